"""A job that serves programs of torch.export, for test_export_archive.py: prints one JSON line.

usage: export_job.py ARCHIVE CALL...
A CALL is PROGRAM:MODE[:HOW[:SIZES]], MODE no_grad, inference_mode or grad; HOW module (the default; torch.compile of
what was loaded), direct (stoker.compile) or original (the model, as it was exported); SIZES, of the first dim of the
first input, one call after another: 4,12.
"""

import json
import sys

import torch

import stoker
import export_models

TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 5e-3, torch.float64: 1e-12}
MODES = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "grad": torch.enable_grad}


def load(path):
    """{name: ExportedProgram}"""
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(path).exported_programs


def tensors_of(results):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]


def error_of(actual, expected):
    """As a part of what the type allows."""
    worst = 0.0
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride(), (a.shape, b.shape)
        scale = torch.linalg.norm(b.double()).item() or 1.0
        worst = max(worst, torch.linalg.norm(a.double() - b.double()).item() / scale / TOLERANCE.get(b.dtype, 1e-4))
    return worst


def with_size(tensor, size):
    torch.manual_seed(size)
    return torch.randn(size, *tensor.shape[1:]).to(tensor.dtype)


def run(programs, name, mode, how="module", sizes=""):
    torch.compiler.reset()
    fresh = export_models.exported(name)
    _, model, arguments, keywords = fresh
    compiled_model = model if how == "original" else programs[name].module()
    for buffer, tensor in compiled_model.named_buffers():
        if buffer == "calls":
            tensor.zero_()  # Modules of one program share it.
    compile = stoker.compile if how == "direct" else lambda module: torch.compile(module, backend="stoker")
    compiled, worst, steps = compile(compiled_model), 0.0, len(stoker.compiles())
    eager = export_models.exported(name)[1]
    for size in sizes.split(",") if sizes else [None]:
        called = arguments if size is None else (with_size(arguments[0], int(size)), *arguments[1:])
        with MODES[mode]():
            actual, expected = tensors_of(compiled(*called, **keywords)), tensors_of(eager(*called, **keywords))
        worst = max(worst, error_of([a.detach() for a in actual], [b.detach() for b in expected]))
        if mode == "grad":
            sum(tensor.sum() for tensor in actual if tensor.requires_grad).backward()
    made = stoker.compiles()[steps:]
    return {"error": worst, "graphs": len(made), "sources": sorted({source for one in made for source in one["sources"]})}


if __name__ == "__main__":
    programs = load(sys.argv[1])
    print(json.dumps({call: run(programs, *call.split(":")) for call in sys.argv[2:]}))
