"""Where a traced graph runs."""

import torch

from .layout import is_tensor


def gpus_of(gm):
    """Those that tensors of a traced graph lie on, in order."""
    return list(dict.fromkeys(
        value.device for node in gm.graph.nodes for value in _tensors_of(node.meta.get("val"))
        if value.device.type == "cuda"))


def _tensors_of(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_of(item)
    elif is_tensor(value):
        yield value


def device_of(gm):
    """Where the graph's kernels run: on the first GPU that a tensor of it lies on, else on the CPU."""
    return next(iter(gpus_of(gm)), torch.device("cpu"))
