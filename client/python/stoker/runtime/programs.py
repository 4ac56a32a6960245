"""Runs a Program: the compiled segments and the eager operators between them."""

import torch

from ..base import tally
from ..base.log import logger, warn_once
from ..base.signals import let_through
from ..graph.program import Copy, EagerCall, Segment, Slot, filled, slots_read
from ..libstoker.library import FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, StokerError
from ..pytorch.marks import boxed
from ..pytorch.state import in_forward_mode, is_profiled, makes_fakes
from ..pytorch.tensors import has_memory
from .gate import Inside
from .loaded import cannot_start_over, shares_memory
from .replays.replay import Replayed
from .replays.room import Room
from .sizes import by_values


def forward_of(gm):
    """What computes the graph, without hooks that a program has put on all modules."""
    _ = gm.code  # Until a graph module made lazily has code, its forward is a call of the module.
    return gm.forward


def eager(gm):
    """The graph as PyTorch runs it."""
    forward = forward_of(gm)

    @boxed
    def run(arguments):
        taken = tuple(arguments)
        arguments.clear()
        return forward(*taken)

    return run


def compiled(gm, program, executables, recorder=None, lets_go=False, name="Stoker"):
    """The program as a function of one list. A segment that fails hands the graph to PyTorch for good. `recorder`, `lets_go`:
    of run_of; `name`: what a call is to PyTorch's profiler."""

    def in_eager(error):
        warn_once(
            ("run", id(gm)), "a compiled graph failed and runs in eager from now on: %s", error)
        logger.debug("graph:\n%s", gm.code)
        tally.count("graphs_eager")
        forward = forward_of(gm)
        return lambda taken: forward(*taken)

    def once(taken):
        return forward_of(gm)(*taken)

    run_or_eager = profiled(name, rescued(
        run_of(program, executables, recorder, lets_go), in_eager, once, without_memory=once, has_sizes=bool(program.symbols)))

    @boxed
    def run(arguments):
        # Kernels know nothing of tangents, and nothing guards that there are none; nor of tensors without memory.
        if in_forward_mode() or makes_fakes():
            results = forward_of(gm)(*arguments)
        else:
            results = run_or_eager(arguments)
        arguments.clear()
        return results

    return run


def name_of_calls(keys, is_backward):
    """With the key of the first artifact, as `stoker inspect` takes it."""
    return " ".join(("Stoker", *(["backward"] if is_backward else []), *(key[:16] for key in keys[:1])))


def profiled(name, run):
    """`run`, each call of which PyTorch's profiler shows by this name."""

    def run_or_profile(arguments):
        if not is_profiled():
            return run(arguments)
        with torch.profiler.record_function(name):
            return run(arguments)

    return run_or_profile


# Codes of errors that are about what a call brings.
_OF_CALLS = (INVALID_ARGUMENT, RESOURCE_EXHAUSTED)


def rescued(run, in_eager, once, without_memory=None, has_sizes=False):
    """`run`, until it raises a StokerError: from then on what in_eager(error) gives. Graphs are functional,
    so starting over with the same arguments is safe. `once`: for a call of a signal handler that came into the midst of another
    one, and where `has_sizes`, they vary, for sizes that are too much; `without_memory`: for one with tensors that no kernel can
    read, as when gradients are asked for in a batch."""
    current = run

    def run_or_eager(arguments):
        nonlocal current
        try:
            return current(arguments)
        except StokerError as error:
            if shares_memory(error):  # Of this call alone, which its guards should have told apart.
                warn_once("shared", "a call runs in eager: %s", error)
                return once(arguments)
            if has_sizes and error.code in _OF_CALLS:
                warn_once(("sizes", error.code), "a compiled graph runs in eager for some sizes: %s", error)
                return once(arguments)
            if current is run:  # And not what another thread's call has put there.
                current = in_eager(error)
        except Inside:
            return once(arguments)
        except RuntimeError as error:
            let_through(error)
            if without_memory is None or all(map(has_memory, arguments)):
                raise
            return without_memory(arguments)
        return current(arguments)

    return run_or_eager


def run_of(program, executables, recorder=None, lets_go=False):
    """A function from the list of inputs to the outputs; StokerError when a segment fails. `recorder`: a
    cuda_recorder.Recorder, where calls are to be recorded and run again. `lets_go`: nobody else holds most of what is in the list,
    which may be emptied while the program runs."""

    def make(values):
        run, makers = _for_sizes(program, executables, values, lets_go)
        if recorder is None:
            return run
        launches = others + sum(maker.steps for maker, _ in makers)
        return Replayed(run, recorder, makers, lets_go, shown, room, launches)

    # What PyTorch is given it may give back, or a view of it.
    shown = frozenset(slot for step in program.steps if not isinstance(step, Segment) for slot in slots_read(step))

    others = sum(not isinstance(step, Segment) for step in program.steps)
    room = Room() if program.symbols else None
    if room is None:
        return make(())
    return by_values(program.symbols, lambda values, _: make(values))


def _for_sizes(program, executables, values, lets_go):
    """(what runs, [(a segment's executable, the numbers of its outputs that the program gives)])"""
    program = program.at(values)
    drops = _drops(program)
    segments = [(step, gone) for step, gone in zip(program.steps, drops) if isinstance(step, Segment)]
    sized = [
        executable.at(segment, [values[symbol] for symbol in segment.symbols], frozenset(gone) if lets_go else frozenset())
        for executable, (segment, gone) in zip(executables, segments)]
    kept = _kept(program)
    makers = [
        (each, [number for number, output in enumerate(segment.outputs) if output.slot in kept])
        for each, (segment, _) in zip(sized, segments)]
    return _single(program, sized[0]) if _is_single(program) else _steps(program, sized, drops, lets_go), makers


def _kept(program):
    """Slots that it gives."""
    return {output.index for output in program.outputs if isinstance(output, Slot)}


def _drops(program):
    """For each step the slots that nothing reads behind it."""
    kept = _kept(program)
    last_reader = {}
    for step in program.steps:
        for slot in slots_read(step):
            last_reader[slot] = id(step)
    return [
        [slot for slot in dict.fromkeys(slots_read(step)) if last_reader[slot] == id(step) and slot not in kept]
        for step in program.steps]


def _is_single(program):
    """Is it one segment that gives all outputs which are tensors?"""
    if len(program.steps) != 1 or not isinstance(program.steps[0], Segment) or program.constants:
        return False
    given = {output.slot for output in program.steps[0].outputs}
    return all(output.index in given for output in program.outputs if isinstance(output, Slot))


def _single(program, executable):
    places = {output.slot: place for place, output in enumerate(program.steps[0].outputs)}
    order = [places[output.index] if isinstance(output, Slot) else None for output in program.outputs]
    if order == list(range(len(places))):
        return executable

    def run_in_order(arguments):
        results = executable(arguments)
        return [output if place is None else results[place] for output, place in zip(program.outputs, order)]

    return run_in_order


def _steps(program, executables, drops, lets_go):
    """Any program. `drops`: of each step; slots are emptied after their last reader, where it `lets_go` in the list of inputs
    itself."""
    segments = iter(executables)
    inputs = program.slots
    # What a kernel or a copy was made for; what PyTorch alone reads may be whatever it is.
    relied_on = {
        slot for step in program.steps if not isinstance(step, EagerCall) for slot in slots_read(step)}
    plan = []
    for step, gone in zip(program.steps, drops):
        run = {Segment: _run_segment, EagerCall: _run_eager, Copy: _run_copy}[type(step)]
        if isinstance(step, EagerCall) and step.result is not None and step.slot in relied_on:
            run = _run_checked
        worker = next(segments) if isinstance(step, Segment) else None
        plan.append((run, step, worker, gone))

    def execute(arguments):
        slots = list(arguments) + [None] * (inputs - len(arguments))
        for slot, value in program.constants.items():
            slots[slot] = value
        return run_all(slots)

    def execute_and_let_go(arguments):
        count = len(arguments)
        slots = arguments + [None] * (inputs - count)
        for slot, value in program.constants.items():
            slots[slot] = value
        arguments.clear()
        results = None
        try:
            results = run_all(slots)
            return results
        except (StokerError, Inside) as error:
            if any(slot is None for slot in slots[:count]):
                raise cannot_start_over(error) from error
            raise
        finally:
            if results is None:  # What is left, for who may start over.
                arguments.extend(slots[:count])

    def run_all(slots):
        for run, step, worker, gone in plan:
            run(slots, step, worker)
            for slot in gone:
                slots[slot] = None
        return [
            slots[output.index] if isinstance(output, Slot) else output
            for output in program.outputs]

    return execute_and_let_go if lets_go else execute


def _run_segment(slots, segment, executable):
    for output, tensor in zip(segment.outputs, executable(slots)):
        slots[output.slot] = tensor


def _run_eager(slots, call, _):
    slots[call.slot] = call.target(
        *filled(slots, call.arguments), **filled(slots, call.keywords))


def _run_checked(slots, call, _):
    """StokerError for another tensor than the steps after it were made for: a kernel would read beside it."""
    _run_eager(slots, call, _)
    result = slots[call.slot]
    found = (result.dtype, tuple(result.shape)) if isinstance(result, torch.Tensor) else type(result).__name__
    if found != call.result:
        raise StokerError(
            FAILED_PRECONDITION, f"{call.target} gave {found}, not {call.result} as when it was traced.")


def _run_copy(slots, copy, _):
    layout, elements = copy.layout, slots[copy.source].permute(copy.source_order)
    if layout.overlaps:
        slots[copy.target] = elements.clone(memory_format=torch.contiguous_format)
        return
    slots[copy.target] = result = torch.empty_strided(
        layout.shape, layout.strides, dtype=elements.dtype, device=elements.device)
    (result if layout.order is None else result.permute(layout.order)).copy_(elements)
