"""The torch.compile backend: capture, lower, compile; eager PyTorch wherever that does not work."""

import sys

from .base import modes, tally
from .base.log import logger, warn_once
from .base.signals import learn_handlers, let_through
from .captures import attach
from .captures.audit import beside
from .libstoker import gpus_ahead
from .libstoker.client import connect_ahead
from .pytorch import aot, devices, facts, operators, refusals
from .pytorch.names import SIZES
from .runtime import first_calls, programs, sizes


def stoker(gm, example_inputs, *, mode=None, options=None):
    """What torch.compile(model, backend="stoker") calls. Options: verify (the first call runs beside a reference
    interpreter)."""
    learn_handlers()
    own = operators.kernel_of_the_program()
    if own is not None:  # Who knows which operators are made of this one.
        warn_once(("kernel", own), "graphs run in eager: an operator of PyTorch has a kernel of the program's, %s.", own)
        return _eager(gm)
    verifies = _verifies(mode, options or {})
    try:
        return _traced(gm, example_inputs, mode, verifies)
    except (*aot.errors_of_dynamo(), KeyboardInterrupt):
        raise  # Dynamo's way to start over, or to say what the user's program does wrong.
    except Exception as error:
        let_through(error)
        if _records_only():
            raise  # There is no job to keep alive.
        warn_once(("trace", str(error)), "tracing failed, so a graph runs in eager: %s", error)
        return _eager(gm)


def _traced(gm, example_inputs, mode, verifies):
    # Not at the top: a process in which all starts are warm does not wait for these.
    from . import capture, varying
    from .captures.install.graphs import InferenceGraph
    from .captures.record import recording
    from .lowering import compiling, targets
    from .lowering.ahead import Ahead
    from .lowering.uncompiled import record_only

    asked = compiling.Options(verify=verifies, replays=modes.replays(mode))
    ahead = None  # Of a graph that is trained: what its backward pass needs.
    inference = None  # Another one, compiled.
    if not beside.is_child() and not record_only.is_on():
        connect_ahead()
        gpus_ahead.warm_up(devices.gpu_in_use())

    def compile_graph(inner, parameters, traced_s, is_training, backward):
        nonlocal ahead, inference
        chosen = compiling.of_the_moment(asked, inner)
        training = varying.training_of(backward, chosen) if is_training else None
        if beside.is_child():
            recording.note_traced(inner, training)
            return programs.eager(inner)
        parameters = targets.held(inner, parameters, is_training)
        ahead = Ahead(backward)
        compiled = _by_sizes(
            inner, lambda: varying.of_graph(inner, parameters, chosen, training),
            lambda: compiling.compile_graph(
                inner, parameters, chosen, traced_s,
                lambda program, made: recording.note_program(inner, program, made, training), ahead))
        inference = None if is_training else compiled
        return compiled

    def compile_backward(inner, traced_s):
        chosen = compiling.of_the_moment(asked, inner)
        words = graph.words_of_backward(chosen)
        return _by_sizes(
            inner, lambda: varying.function_of(inner, (), chosen, words),
            lambda: compiling.compile_graph(inner, (), chosen, traced_s, varying.note_beside(words), ahead))

    def around(function):
        """Inputs that change in place are noted all at once, as in a process that starts warm, and not one by one."""
        found = graph.updates()
        return function if found is None or inference is None else InferenceGraph(inference, *found, aot.held())

    refused = refusals.by_kernels(gm)
    with recording.graph(gm, example_inputs) as graph:
        function = capture.trace(gm, example_inputs, compile_graph, compile_backward, around)
        if refused is None or beside.is_child() or record_only.is_on():  # The latter two call nothing.
            return graph.mark(function)
        logger.info("the first call of a graph runs in eager, which may refuse it: %s", refused)
        first_call = first_calls.FirstCall(gm, function)
        return graph.mark(first_call.function, first_call)


def _by_sizes(gm, varying, fixed):
    """What varying() gives for a graph with symbolic sizes, fixed() for another."""
    if not sizes.symbolic_inputs(gm):
        return fixed()
    if not facts.has(SIZES, "graphs that have them run in eager"):
        tally.count("graphs_eager")
        return programs.eager(gm)
    return varying()


def _records_only():
    """Is it on? Not where it was never loaded, nor while it is: a signal handler of the program's calls what is compiled."""
    record_only = sys.modules.get(f"{__package__}.lowering.uncompiled.record_only")
    return hasattr(record_only, "is_on") and record_only.is_on()


def _eager(gm):
    tally.count("graphs_eager")
    return programs.forward_of(gm)


def _verifies(mode, options):
    """What the options ask for; what is not known of them is named."""
    if not isinstance(options, dict):
        warn_once(("options", repr(options)), "options %r are no dictionary and are ignored.", options)
        options = {}
    if mode not in modes.KNOWN:
        warn_once(("mode", mode), "mode '%s' is unknown and ignored.", mode)
    for name in sorted(set(options) - {"verify"}):
        warn_once(("option", name), "option '%s' is unknown and ignored.", name)
    return bool(options.get("verify", False))


gpus_ahead.warm_up(devices.gpu_in_use())
attach.attach(lambda backend: getattr(backend, "compiler_fn", backend) is stoker)
