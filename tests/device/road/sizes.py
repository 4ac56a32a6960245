"""Models called with batches and sequences of many sizes: one program serves them, as right as eager, each time they come."""

import copy
import functools

import torch

import stoker
from device.road.compare import WIDER, compare, compiled
from device.road.workloads import MODELS

SEQUENCES = ((8, 128), (4, 96), (3, 77), (6, 200), (2, 130), (5, 33), (8, 128))
BATCHES = tuple((batch, 3, 224, 224) for batch in (8, 4, 2, 5, 3, 8))
CHECKED = {"bert": SEQUENCES, "gpt2": SEQUENCES, "llama": SEQUENCES, "vit": BATCHES, "resnet50": BATCHES}
TURNS = 4  # What libraries launch is recorded in the third.
MOST_COMPILES = 4  # Of the first size, and of all: some have two kernels with a call between them.


def cases_of_sizes(device):
    for name, sizes in CHECKED.items():
        for mode in (None, "reduce-overhead"):
            yield f"sizes {name}{'' if mode is None else ' replayed'}", functools.partial(
                sizes_vary, MODELS[name], sizes, device, mode)


def cases_of_training(device):
    for name in ("bert", "gpt2", "vit", "resnet50"):
        yield f"sizes {name} training", functools.partial(training_sizes_vary, MODELS[name], CHECKED[name], device)


def training_sizes_vary(workload, sizes, device):
    dtype = torch.bfloat16
    model, (like,) = workload.build(dtype, device)
    inputs = [_input(like, size, device) for size in sizes]
    wide = copy.deepcopy(model).to(WIDER[dtype])
    faster, before = compiled(model), len(stoker.compiles())
    found, eager, wider = [], [], []
    for x in inputs:
        found += _gradients(faster, model, x)
        eager += _gradients(model, model, x)
        wider += _gradients(wide, wide, x.to(WIDER[dtype]) if x.is_floating_point() else x)
    compiles = len(stoker.compiles()) - before
    if compiles > 2 * MOST_COMPILES:  # Forward and backward.
        raise AssertionError(f"{compiles} compiles")
    return compare(found, eager, wider, dtype)


def _gradients(called, model, x):
    """Beside the result."""
    model.zero_grad()
    result = called(x)
    (result.float() - 1).square().mean().backward()
    return [result.detach().clone(), *(each.grad.clone() for each in model.parameters() if each.grad is not None)]


def sizes_vary(workload, sizes, device, mode):
    dtype = torch.bfloat16
    model, (like,) = workload.build(dtype, device)
    inputs = [_input(like, size, device) for size in sizes]
    wide = copy.deepcopy(model).to(WIDER[dtype])
    faster, before = compiled(model, mode=mode), len(stoker.compiles())
    found, eager, wider = [], [], []
    with torch.no_grad():
        for turn in range(TURNS):
            for x in inputs:
                torch.compiler.cudagraph_mark_step_begin()
                found.append(faster(x).clone())
                if not turn:
                    eager.append(model(x))
                    wider.append(wide(x.to(WIDER[dtype]) if x.is_floating_point() else x))
    compiles = len(stoker.compiles()) - before
    if compiles > MOST_COMPILES:
        raise AssertionError(f"{compiles} compiles")
    return compare(found, eager * TURNS, wider * TURNS, dtype)


def _input(like, size, device):
    if like.is_floating_point():
        return torch.randn(size, device=device).to(like.dtype).to(memory_format=torch.channels_last)
    return torch.randint(0, 30000, size, device=device)
