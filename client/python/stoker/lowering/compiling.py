"""From a functional ATen graph to what runs it: compiled segments, or eager PyTorch where that does not work."""

import functools
import time
from typing import Any, NamedTuple

from ..aten_ops import Unsupported
from ..base import tally
from ..base.log import logger, warn_of_bug, warn_once
from ..base.signals import let_through
from ..graph.devices import device_of
from ..graph.program import Segment
from ..libstoker.client import client, report
from ..libstoker.library import StokerError
from ..pytorch import devices, state
from ..pytorch.joint_graph import is_backward
from ..pytorch.marks import boxed
from ..runtime import programs, sizes
from ..runtime.numerics import by_numerics
from ..runtime.placing import executable_on, recorder_on
from . import parts
from .ahead import Ahead
from .lower import lower, lower_for_all, need_numbers
from .uncompiled import later, record_only
from .uncompiled.refused import Lowered, Refused, told_of


class Options(NamedTuple):
    numerics: str = "highest"  # "high", "medium": of the moment; see runtime/numerics.py.
    verify: bool = False
    replays: bool = False  # Are calls recorded as CUDA graphs? No artifact depends on it.


def of_the_moment(options, gm):
    """With the numerics that hold now where the graph runs."""
    return options._replace(numerics=state.numerics(device_of(gm)))


class Compiled(NamedTuple):
    """What a graph became."""

    function: Any  # Boxed.
    request_keys: tuple = ()
    reads_numerics: bool = False  # Would other numerics have made other code?


def compile_for_sizes(gm, arguments, parameters, options, note):
    """As compile_graph, for the graph with the sizes of the arguments."""
    started = time.perf_counter()
    try:
        version = sizes.with_numbers(gm, arguments)
    except Exception as error:
        let_through(error)
        if isinstance(error, ArithmeticError):  # The program's, as of a division by zero: eager says so.
            return programs.eager(gm)
        if isinstance(error, sizes.UnknownSizes):
            warn_once(("sizes", str(error)), "a graph runs in eager: %s.", str(error).partition("\n")[0])
        else:
            warn_of_bug("a graph runs in eager", error)
        tally.count("graphs_eager")
        return programs.eager(gm)
    return compile_graph(version, parameters, options, time.perf_counter() - started, note)


class ForAllSizes:
    """Compiles a graph with symbolic sizes for all sizes at once, where that works. `make_part`: what makes a Part, of
    parts.without; None: where an operator needs a number, the whole graph is compiled for it."""

    def __init__(self, gm, parameters, options, note, make_part=None):
        self._gm = gm
        self._parameters = parameters
        self._options = options
        self._note = note
        self._make_part = make_part
        self._needing = set()  # Names of nodes that libstoker takes with numbers alone.
        self._refused = False

    def __call__(self, values, arguments):
        """What sizes.for_all_sizes() asks for. `note`(arguments) gives a note as of compile_graph."""
        if self._refused:
            return None
        try:
            return self._compile(arguments)
        except (StokerError, Unsupported) as error:
            self._refused = not later.may_come(error)
            logger.info("a graph is compiled for each set of sizes: %s", error)
        except ArithmeticError as error:  # The program's, with these numbers.
            let_through(error)
            logger.info("a graph is compiled for a set of sizes: %s", error)
        except Exception as error:
            let_through(error)
            self._refused = True
            warn_of_bug("a graph is compiled for each set of sizes", error)
        return None

    def _compile(self, arguments):
        while True:
            try:
                return self._compile_once(arguments)
            except Refused as error:
                if self._make_part is None or error.maker in self._needing or not self._has(error.maker):
                    raise
                self._needing.add(error.maker)

    def _has(self, name):
        return any(node.name == name for node in self._gm.graph.nodes)

    def _compile_once(self, arguments):
        started = time.perf_counter()
        program = self._lowered(arguments)
        if record_only.is_on():
            return program.fits, self._record(program)
        record = _record_of(self._gm, 0.0)
        record["mapping_s"] = time.perf_counter() - started
        compiled = _compile_segments(self._gm, program, self._options, record, self._note(arguments), Ahead())
        return program.fits, _for_any_numerics(self._gm, Lowered(lambda refused: program), self._options, compiled)

    def _lowered(self, arguments):
        needing = self._needing | need_numbers(self._gm)
        program = self._in_parts(arguments, set(needing)) if self._make_part is not None else None
        if program is not None:
            return program
        if needing:
            raise Unsupported(f"{min(needing)} needs numbers")
        program = lower_for_all(self._gm, self._parameters, arguments, self._draws_inside)
        needing = self._unmapped_by_symbols(program, arguments)
        if needing:
            raise Unsupported(f"{min(needing)} needs numbers")
        return program

    def _in_parts(self, arguments, needing):
        """A Program, maybe with Parts; None where there is none, or nothing in it is compiled for all sizes."""
        try:
            while all(self._has(each) for each in needing):
                cut = parts.without(self._gm, needing, self._parameters, self._make_part) if needing else self._gm
                found = set()
                program = lower_for_all(cut, self._parameters, arguments, self._draws_inside, found)
                found = found or self._unmapped_by_symbols(program, arguments)
                if not found:
                    is_shared = not program.parts or any(isinstance(step, Segment) for step in program.steps)
                    return program if is_shared else None
                needing |= found
        except Unsupported as error:
            logger.info("a graph is not compiled in parts: %s", error)
        return None

    @property
    def _draws_inside(self):
        return not self._options.verify

    def _unmapped_by_symbols(self, program, arguments):
        """Names of fx nodes that have a rule for numbers alone."""
        if not program.unmapped:
            return frozenset()
        numbered = sizes.with_numbers(self._gm, arguments)
        return program.unmapped - lower(numbered, self._parameters, self._draws_inside).unmapped

    def _record(self, program):
        record_only.record(self._gm, Lowered(lambda refused: program), self._options.numerics)

        @boxed
        def run(arguments):
            numbered = sizes.with_numbers(self._gm, arguments)
            for part in program.parts:
                record_only.run_part(part, numbered, arguments)
            return record_only.made_up(numbered)(arguments)

        return run


def compile_graph(gm, parameters, options, traced_s, note, ahead=None):
    """A boxed callable for a functional ATen graph; never raises. note(program, Compiled) is told what was
    compiled. `ahead`: an Ahead, in which some of it may be under way."""

    # The interpreter beside would draw once more.
    lowered = Lowered(lambda refused: lower(gm, parameters, draws_inside=not options.verify, refused=refused))
    if record_only.is_on():
        return record_only.record(gm, lowered, options.numerics)
    return _for_any_numerics(gm, lowered, options, _compile_once(gm, lowered, options, traced_s, note, ahead))


def _for_any_numerics(gm, lowered, options, compiled):
    if not compiled.reads_numerics:
        return compiled.function

    def compile_again(numerics):
        changed = options._replace(numerics=numerics)
        return _compile_once(gm, lowered, changed, 0.0, lambda *_: None).function

    return by_numerics(device_of(gm), options.numerics, compiled.function, compile_again)


def _record_of(gm, traced_s):
    return {"nodes": len(gm.graph.nodes), "capture_s": traced_s, "bind_s": 0.0, "segments": 0}


def _compile_once(gm, lowered, options, traced_s, note, ahead=None):
    """A Compiled of the Program that `lowered`, a Lowered, gives; never raises."""
    record = _record_of(gm, traced_s)
    build = None
    try:
        started = time.perf_counter()
        program = lowered()
        record["mapping_s"] = time.perf_counter() - started

        def build(note=lambda *_: None, ahead=None):
            return _compile_segments(gm, program, options, dict(record), note, ahead or Ahead())

        return build(note, ahead)
    except (StokerError, Unsupported) as error:
        if isinstance(error, Refused) and lowered.without(error):
            return _compile_once(gm, lowered, options, traced_s, note, ahead)
        request = getattr(error, "request_id", None)
        warn_once(("compile", type(error), str(error)), "a graph runs in eager: %s%s", error,
                  f" (request {request})" if request else "")
        if build is not None and later.may_come(error):
            tally.count("graphs_eager")
            return Compiled(later.until(
                programs.eager(gm), lambda: _for_any_numerics(gm, lowered, options, build())))
    except Exception as error:
        let_through(error)
        warn_of_bug("a graph runs in eager", error)
    tally.count("graphs_eager")
    return Compiled(programs.eager(gm))


def _compile_segments(gm, program, options, record, note, ahead):
    started = time.perf_counter()
    segments = [step for step in program.steps if isinstance(step, Segment)]
    device = device_of(gm)
    _require_target(device)
    ahead.begin(program, options, device)
    executables = [_executable(segment, options, record, device, ahead) for segment in segments]
    record["ready_s"] = record["mapping_s"] + time.perf_counter() - started
    record["segments"] = len(segments)
    record["updates"] = sum(segment.updates for segment in segments)
    record["fallback_ops"] = dict(program.fallbacks)
    tally.count("graphs")
    tally.remember_compile(record)
    _report(program.fallbacks)
    logger.info("compiled a graph: %s", record)
    recorder = recorder_on(device, options.replays)
    is_eager = not segments and not program.parts
    function = programs.eager(gm) if is_eager else programs.compiled(
        gm, program, executables, recorder, is_backward(gm),
        programs.name_of_calls(record.get("request_keys", ()), is_backward(gm)))
    compiled = Compiled(function, record.get("request_keys", ()), record.get("reads_numerics", False))
    note(program, compiled)
    return compiled


@functools.cache
def _why_no_target(name):
    """Of a device by name; None where it has one."""
    try:
        client().target_of(name)
    except StokerError as error:
        return str(error)
    return None


def _require_target(device):
    if device.type == "cpu":
        return
    if not devices.may_run_on_gpus():
        raise Unsupported("kernels for GPUs are off")
    reason = _why_no_target(devices.name_of(device))
    if reason is not None:
        raise Unsupported(f"nothing can be compiled for {device.type}: {reason}")


# What libstoker says about an executable and we add up over the segments of a graph.
_SUMS = ("lookup_s", "compile_s", "load_s", "kernels_unique", "launches")


def _executable(segment, options, record, device, ahead):
    logger.debug("graph:\n%s", segment.text)

    def on_bind(seconds, prepared_from):
        record["bind_s"] += seconds
        record["prepared_from"] = prepared_from

    with told_of(segment):
        handle = ahead.handle(segment, options, device)
    executable = executable_on(device, handle, segment, on_bind, options.verify)
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
