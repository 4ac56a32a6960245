"""Drives a program through torch.compile as its jobs do, while requests are only recorded."""

import contextlib

import torch

from ..lowering.uncompiled import record_only
from ..pytorch.exported import tensors_in


def record(module, calls, with_gradients):
    """Records what jobs will ask for that make these calls, (text, arguments, keywords)s: each as the first one of its
    process, and after others, when its sizes are symbols. A record_only.Recording."""
    with record_only.recording() as recorded:
        for sequence in _sequences(calls):
            _call(module, sequence, with_gradients)
    return recorded


def _sequences(calls):
    """Dynamo takes the sizes of the first call for numbers, and those that change for symbols. The first one of a list
    comes second in the reverse of it."""
    if len(calls) == 1:
        return [calls]
    return [calls, calls[::-1], *([call] for call in calls[1:-1])]


def _call(module, sequence, with_gradients):
    torch.compiler.reset()
    compiled = torch.compile(module, backend="stoker")
    with contextlib.nullcontext() if with_gradients else torch.no_grad():
        for _, arguments, keywords in sequence:
            results = compiled(*arguments, **keywords)
            if with_gradients:
                _go_back(results)


def _go_back(results):
    """Some graphs are compiled when their gradients are first asked for."""
    differentiable = [tensor for tensor in tensors_in(results) if tensor.requires_grad]
    if differentiable:
        torch.autograd.backward(differentiable, list(map(torch.empty_like, differentiable)))
