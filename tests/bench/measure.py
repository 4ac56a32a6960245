#!/usr/bin/env python3
"""Measures one start of one implementation in this process, as one JSON line.

usage: measure.py MODEL DTYPE BATCH IMPLEMENTATION FOLDER [--first-call | --in-turns]
FOLDER holds the float64 reference (made by the implementation "reference") and exported models. Imports,
building the model and exporting it are not part of a first call; torch.compile is. --first-call leaves out the
calls after it. --in-turns makes them when it is told to: after the line above, each line of the input is a number
of seconds to call for, and how many threads to call with (nothing: as many as before); the answer is a list of what
each call took. "launches" in place of the seconds asks Stoker what each launch of a call took: [label, us]; "check" how
far the result of a call is off now, if that is more than it was: {"rel_err": share of the norm}.
"""

import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import torch

from figures import relative_error
from models import build

STEADY_SECONDS = 3.0
MIN_CALLS, MAX_CALLS = 7, 300
LAUNCH_CALLS = 7


def calls_for(run, seconds, at_least=1, at_most=MAX_CALLS):
    """Seconds of each of repeated calls, about so many seconds long in all."""
    times = []
    while len(times) < at_least or (len(times) < at_most and sum(times) < seconds):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return times


def steady(run):
    run()
    return calls_for(run, STEADY_SECONDS, at_least=MIN_CALLS)


def take_turns(run, figures, expected):
    """Others were timed since the last turn: what they have left in the caches is paid by a call that is not timed."""
    for line in sys.stdin:
        seconds, *threads = line.split()
        if threads:
            torch.set_num_threads(int(threads[0]))
        output = run()
        if seconds == "check":
            figures["rel_err"] = max(figures["rel_err"], relative_error(output, expected), key=_nan_last)
            answer = {"rel_err": figures["rel_err"]}
        else:
            answer = launches_of(run) if seconds == "launches" else calls_for(run, float(seconds))
        del output  # Each timed call finds as many results alive.
        print(json.dumps(answer), flush=True)


def _nan_last(number):
    return (number != number, number)


def launches_of(run):
    """Of several calls: each launch's shortest time."""
    import stoker

    calls = []
    for _ in range(LAUNCH_CALLS):
        with stoker.profile() as launches:
            run()
        calls.append([[launch["label"] or launch["kernel"], launch["us"]] for launch in launches])
    return [min(launch, key=lambda named: named[1]) for launch in zip(*calls)]


# ---- Implementations: each makes, from a model and its inputs, what the clock runs ------------------


def eager(model, inputs, place):
    return lambda: model(inputs)


def inductor(model, inputs, place):
    compiled = torch.compile(model)
    return lambda: compiled(inputs)


def inductor_freezing(model, inputs, place):
    import torch._inductor.config

    torch._inductor.config.freezing = True
    return inductor(model, inputs, place)


def zentorch(model, inputs, place):
    import torch._inductor.config
    import zentorch  # noqa: F401

    torch._inductor.config.freezing = True
    compiled = torch.compile(model, backend="zentorch")
    return lambda: compiled(inputs)


def stoker(model, inputs, place):
    compiled = torch.compile(model, backend="stoker")
    return lambda: compiled(inputs)


def onnxruntime(model, inputs, place):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = ort.InferenceSession(str(place / "model.onnx"), options, ["CPUExecutionProvider"])
    name, array = session.get_inputs()[0].name, inputs.numpy()
    return lambda: torch.from_numpy(session.run(None, {name: array})[0])


def openvino(model, inputs, place):
    import openvino as ov

    precision = "bf16" if place.name.split("-")[1] == "bfloat16" else "f32"
    compiled = ov.Core().compile_model(str(place / "model.xml"), "CPU", {
        "INFERENCE_NUM_THREADS": torch.get_num_threads(), "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision})
    request, array = compiled.create_infer_request(), inputs.numpy()
    return lambda: torch.from_numpy(next(iter(request.infer([array]).values())))


IMPLEMENTATIONS = {
    "eager": eager, "inductor": inductor, "inductor-freezing": inductor_freezing, "zentorch": zentorch,
    "stoker": stoker, "onnxruntime": onnxruntime, "openvino": openvino}
ENGINES = ("onnxruntime", "openvino")


def prepare(name, model, inputs, place):
    """Exports what another engine reads, once."""
    place.mkdir(exist_ok=True)
    if name == "onnxruntime" and not (place / "model.onnx").exists():
        torch.onnx.export(model, (inputs,), str(place / "model.onnx"), dynamo=True)
    if name == "openvino" and not (place / "model.xml").exists():
        import openvino as ov

        ov.save_model(
            ov.convert_model(torch.export.export(model, (inputs,))), str(place / "model.xml"),
            compress_to_fp16=False)


# ---- What a start is asked ------------------------------------------------------------------------


def reference(model_name, dtype, batch):
    """(output in float64, floating-point operations of one call)."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    model, inputs = build(model_name, dtype, batch)
    model = model.double()
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    torch.backends.mha.set_fastpath_enabled(False)  # The one operator of it is not counted.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        output = model(inputs)
    return output, counter.get_total_flops()


def stoker_figures(run):
    import stoker

    compiles, eager = stoker.compiles(), stoker.counters().get("graphs_eager", 0)
    with stoker.profile() as launches:
        run()
    kernels = {}
    for launch in launches:
        name = launch["label"] or launch["kernel"]
        kernels[name] = kernels.get(name, 0) + launch["us"]
    slowest = max(kernels, key=kernels.get, default=None)
    return {
        "ready_s": sum(record["ready_s"] for record in compiles),
        "bind_s": sum(record["bind_s"] for record in compiles),
        "capture_s": sum(record["capture_s"] for record in compiles),
        "graphs": len(compiles) + eager, "graphs_eager": eager,
        "fallback_ops": sorted(stoker.fallback_ops()),
        "kernels_unique": sum(record["kernels_unique"] for record in compiles),
        "sources": sorted({source for record in compiles for source in record.get("sources", ())}),
        "slowest_kernel": slowest,
        "slowest_share": kernels[slowest] / sum(kernels.values()) if slowest else None,
        "launched_us": sum(kernels.values()),
    }


def main(model_name, dtype_name, batch, name, folder, how=None):
    """(figures, what is called, what it is to return)"""
    dtype, place = getattr(torch, dtype_name), Path(folder, f"{model_name}-{dtype_name}-{batch}")
    place.mkdir(exist_ok=True)
    if name == "reference":
        output, flops = reference(model_name, dtype, batch)
        torch.save(output, place / "reference.pt")
        return {"flops": flops}, None, None
    model, inputs = build(model_name, dtype, batch)
    if name in ENGINES:  # They take bf16 as a hint; the weights are those of the bf16 model.
        model, inputs = model.float(), inputs.float() if inputs.is_floating_point() else inputs
        prepare(name, model, inputs, place)
    expected = torch.load(place / "reference.pt")
    started = time.perf_counter()
    run = IMPLEMENTATIONS[name](model, inputs, place)
    output = run()
    first_s = time.perf_counter() - started
    samples = [] if how else steady(run)
    figures = {
        "first_call_s": first_s, "rel_err": relative_error(output, expected),
        "steady_s": statistics.median(samples) if samples else None, "steady_samples_s": samples,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
    return figures | (stoker_figures(run) if name == "stoker" else {}), run, expected


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7) or sys.argv[6:] not in ([], ["--first-call"], ["--in-turns"]):
        sys.exit(__doc__)
    with torch.no_grad():
        result, run, expected = main(*sys.argv[1:3], int(sys.argv[3]), *sys.argv[4:])
        print(json.dumps(result), flush=True)
        if sys.argv[6:] == ["--in-turns"]:
            take_turns(run, result, expected)
    os._exit(0)  # A process with a compiled model may take seconds to tear down.
