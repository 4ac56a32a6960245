"""A stored program, over the artifacts of its request keys."""

import time

from ...base import tally
from ...base.log import warn_once
from ...graph.program import Segment
from ...libstoker.client import client
from ...pytorch import devices, state
from ...runtime import programs
from ...runtime.placing import executable_on, recorder_on
from ..words.graphs import decode_program

# What libstoker says about an executable and is added up over a program.
_SUMS = ("lookup_s", "load_s", "kernels_unique", "launches")


def load_program(words, device, replays, run_part=None, lets_go=False):
    """A function of the list of inputs, on the device. StokerError when an artifact is not there or does not load.
    `run_part`: a function of a Part's words, which gives its own; sizes vary where there are any. `lets_go`: of programs.run_of."""
    program = decode_program(words, device)
    for part in program.parts:
        part.function = run_part(part.words)
    if program.device == "cpu":
        device = devices.CPU
    started = time.perf_counter()
    record = {
        "captured": True, "nodes": 0, "capture_s": 0.0, "mapping_s": 0.0, "compile_s": 0.0,
        "bind_s": 0.0, "fallback_ops": dict(program.fallbacks),
        "sources": [], "request_keys": []}

    def on_bind(seconds, prepared_from):
        record["bind_s"] += seconds
        record["prepared_from"] = prepared_from

    executables = []
    segments = [step for step in program.steps if isinstance(step, Segment)]
    for segment in segments:
        handle = client().load(segment.text, state.numerics(device), devices.name_of(device))
        executable = executable_on(device, handle, segment, on_bind)
        executables.append(executable)
        description = executable.describe()
        for name in _SUMS:
            record[name] = record.get(name, 0) + (description.get(name) or 0)
        record["sources"].append(description.get("source"))
        record["request_keys"].append(description.get("request_key"))
    record["segments"] = len(segments)
    record["updates"] = sum(segment.updates for segment in segments)
    record["ready_s"] = time.perf_counter() - started
    tally.count("graphs")
    tally.remember_compile(record)
    for operator, reason in program.fallbacks.items():
        tally.count_fallback(operator)
        warn_once(("fallback", operator), "%s runs in eager PyTorch: %s.", operator, reason)
    return programs.profiled(
        programs.name_of_calls(record["request_keys"], lets_go),
        programs.run_of(program, executables, recorder_on(device, replays and bool(executables)), lets_go))
