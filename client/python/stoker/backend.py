"""The torch.compile backend: capture, lower, compile; eager PyTorch wherever that does not work."""

import time
from typing import Any, NamedTuple

import torch

from . import capture, record_only, runtime, sizes, tally
from .aten_ops import Unsupported
from .captures import attach, beside, recording, sized
from .client import client, connect_ahead, report
from .executable import Executable
from .library import StokerError
from .log import logger, warn_of_bug, warn_once
from .lowering import lower
from .numerics import by_numerics
from .program import Segment
from .pytorch import aot, facts, state
from .pytorch.names import SIZES

# Of torch.compile. On processors they all ask for what Stoker does anyway.
_MODES = frozenset((
    None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"))


class Options(NamedTuple):
    numerics: str = "highest"  # "high", "medium": of the moment; see numerics.py.
    verify: bool = False


class Compiled(NamedTuple):
    """What a graph became."""

    function: Any  # Boxed.
    request_keys: tuple = ()
    reads_numerics: bool = False  # Would other numerics have made other code?


def stoker(gm, example_inputs, *, mode=None, options=None):
    """What torch.compile(model, backend="stoker") calls. Options: verify (the first call runs beside a reference
    interpreter)."""
    chosen = _options(mode, options or {})
    if not beside.is_child() and not record_only.is_on():
        connect_ahead()

    def compile_graph(inner, parameters, traced_s, is_training):
        if beside.is_child():
            recording.note_traced(inner, is_training)
            return runtime.eager(inner)
        symbolic = sizes.symbolic_inputs(inner)
        if not symbolic:
            def note(gm, program, compiled):
                recording.note_program(gm, program, compiled, is_training)

            return _compile(inner, parameters, chosen, traced_s, note)
        if not facts.has(SIZES, "graphs that have them run in eager"):
            tally.count("graphs_eager")
            return runtime.eager(inner)
        words = recording.note_sized(inner, symbolic, parameters, chosen, is_training)

        def compile_version(arguments):
            return compile_for_sizes(
                inner, arguments, parameters, chosen, words, sized.inputs_of(arguments))

        return sizes.by_sizes(symbolic, compile_version)

    try:
        with recording.graph(gm, example_inputs) as graph:
            return graph.mark(capture.trace(gm, example_inputs, compile_graph))
    except (*aot.errors_of_dynamo(), KeyboardInterrupt):
        raise  # Dynamo's way to start over, or to say what the user's program does wrong.
    except Exception as error:
        if record_only.is_on():
            raise  # There is no job to keep alive.
        warn_once(("trace", str(error)), "tracing failed, so a graph runs in eager: %s", error)
        tally.count("graphs_eager")
        return runtime.forward_of(gm)


def _options(mode, options):
    if not isinstance(options, dict):
        warn_once(("options", repr(options)), "options %r are no dictionary and are ignored.", options)
        options = {}
    if mode not in _MODES:
        warn_once(("mode", mode), "mode '%s' is unknown and ignored.", mode)
    for name in sorted(set(options) - {"verify"}):
        warn_once(("option", name), "option '%s' is unknown and ignored.", name)
    return Options(state.numerics(), bool(options.get("verify", False)))


def compile_for_sizes(gm, arguments, parameters, options, words, inputs):
    """A boxed callable for the graph with the sizes of the arguments; never raises. `words`: the graph's record,
    beside which the program is stored for such `inputs` (of sized.inputs_of); None if it has none."""
    started = time.perf_counter()
    version = sizes.with_numbers(gm, arguments)

    def note(_, program, compiled):
        if words is not None:
            sized.store_version(words, inputs, program, compiled)

    return _compile(version, parameters, options, time.perf_counter() - started, note)


def _compile(gm, parameters, options, traced_s, note):
    """A boxed callable for a functional ATen graph; never raises. note(gm, program, Compiled) is told what was
    compiled."""
    compiled = _compile_once(gm, parameters, options, traced_s, note)
    if not compiled.reads_numerics:
        return compiled.function

    def compile_again(numerics):
        changed = options._replace(numerics=numerics)
        return _compile_once(gm, parameters, changed, 0.0, lambda *_: None).function

    return by_numerics(options.numerics, compiled.function, compile_again)


def _compile_once(gm, parameters, options, traced_s, note):
    """A Compiled; never raises, unless requests are only recorded."""
    if record_only.is_on():
        return Compiled(record_only.record(gm, parameters, options.numerics))
    record = {"nodes": len(gm.graph.nodes), "capture_s": traced_s, "bind_s": 0.0, "segments": 0}
    try:
        return _compile_segments(gm, parameters, options, record, note)
    except (StokerError, Unsupported) as error:
        request = getattr(error, "request_id", None)
        warn_once(("compile", type(error), str(error)), "a graph runs in eager: %s%s", error,
                  f" (request {request})" if request else "")
    except Exception as error:
        warn_of_bug("a graph runs in eager", error)
    tally.count("graphs_eager")
    return Compiled(runtime.eager(gm))


def _compile_segments(gm, parameters, options, record, note):
    started = time.perf_counter()
    program = lower(gm, parameters)
    record["mapping_s"] = time.perf_counter() - started
    segments = [step for step in program.steps if isinstance(step, Segment)]
    executables = [_executable(segment, options, record) for segment in segments]
    record["ready_s"] = time.perf_counter() - started
    record["segments"] = len(segments)
    record["fallback_ops"] = dict(program.fallbacks)
    tally.count("graphs")
    tally.remember_compile(record)
    _report(program.fallbacks)
    logger.info("compiled a graph: %s", record)
    function = runtime.compiled(gm, program, executables) if segments else runtime.eager(gm)
    compiled = Compiled(function, record.get("request_keys", ()), record.get("reads_numerics", False))
    note(gm, program, compiled)
    return compiled


# What libstoker says about an executable and we add up over the segments of a graph.
_SUMS = ("lookup_s", "compile_s", "load_s", "kernels_unique", "launches")


def _executable(segment, options, record):
    logger.debug("graph:\n%s", segment.text)

    def on_bind(seconds, prepared_from):
        record["bind_s"] += seconds
        record["prepared_from"] = prepared_from

    handle = client().compile(segment.text, options.numerics, options.verify)
    executable = Executable(handle, segment, on_bind, options.verify)
    description = executable.describe()
    for name in _SUMS:
        record[name] = record.get(name, 0) + (description.get(name) or 0)
    record["reads_numerics"] = record.get("reads_numerics", False) or description["reads_numerics"]
    record.setdefault("sources", []).append(description.get("source"))
    record.setdefault("request_keys", []).append(description.get("request_key"))
    return executable


def _report(fallbacks):
    for operator, reason in fallbacks.items():
        tally.count_fallback(operator)
        warn_once(("fallback", operator), "%s runs in eager PyTorch: %s.", operator, reason)
    report({"graphs": 1, "graphs_with_fallback": int(bool(fallbacks))}, fallbacks)


attach.attach(lambda backend: getattr(backend, "compiler_fn", backend) is stoker)
