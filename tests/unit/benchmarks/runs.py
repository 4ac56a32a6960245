"""Stored runs that were never measured."""

from figures import figure

PACKAGES = {"torch": "2.15.0", "triton": "3.9.0", "onnxruntime": "1.31.1", "openvino": "2026.4.1",
            "zentorch": None}


def conditions(**changed):
    return {
        "date": "2026-11-22T10:00:00+00:00", "commit": "0123456789abcdef", "dirty": False,
        "processor": "Some Processor", "processor_model": "family 6, model 7, stepping 8",
        "processor_class": "intel-amx-2cores", "target": "cpu/x86-64-v4+amx_bf16", "cores": 2,
        "threads": 2, "packages": PACKAGES} | changed


def cpu_row(model, implementation, steady_ms, dtype="float32", batch=1, **figures):
    return {
        "model": model, "dtype": dtype, "batch": batch, "impl": implementation,
        "figures": {"steady_ms": figure(steady_ms)} | figures}


def warm_row(model, implementation, start_s, frames_traced=0):
    return {"model": model, "impl": implementation, "frames_traced": frames_traced,
            "figures": {"start_s": figure(start_s)}}


def cpu_run(**changed):
    return {"bench": "cpu", "run": conditions(**changed), "rows": [
        cpu_row("gpt2", "eager", [100.0, 110.0, 120.0]),
        cpu_row("gpt2", "openvino", [80.0]),
        cpu_row("gpt2", "stoker", [40.0, 40.0, 42.0, 50.0], cold_first_call_s=figure([3.5]),
                rel_err=figure([2e-6])),
        cpu_row("bert", "stoker", [9.87]),
        cpu_row("gpt2", "openvino", [10.0], "bfloat16"),
        cpu_row("gpt2", "stoker", [10.5], "bfloat16")]}


def warm_run(**changed):
    return {"bench": "warm", "run": conditions(**changed), "rows": [
        warm_row("gpt2", "inductor", [3.6, 3.7, 3.8], 1),
        warm_row("gpt2", "precompile", [5.0, 5.1, 5.2], 1),
        warm_row("bert", "precompile", [1.0, 1.1, 1.2]),
        warm_row("gpt2", "stoker", [0.1, 0.1, 0.1])]}
