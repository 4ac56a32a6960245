"""Masks of attention as PyTorch's fused kernels take them: with neighbours along the keys."""

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

_MASK = 3  # Among the arguments of scaled_dot_product_attention.


def asks_for_attention(gm):
    """Is it called in Dynamo's graph, or in one that this one holds?"""
    return any(
        module.graph.find_nodes(op="call_function", target=scaled_dot_product_attention)
        for module in gm.modules() if isinstance(module, torch.fx.GraphModule))


class DenseMasks(TorchFunctionMode):
    """While a graph is traced: a mask on a GPU that lies otherwise is copied before attention is called. PyTorch looks at how
    it lies to choose a kernel, and would write down all scores."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        if func is scaled_dot_product_attention:
            if len(args) > _MASK:
                args = (*args[:_MASK], _as_read(args[_MASK]), *args[_MASK + 1:])
            elif "attn_mask" in keywords:
                keywords = {**keywords, "attn_mask": _as_read(keywords["attn_mask"])}
        return func(*args, **keywords)


def _as_read(mask):
    is_there = mask is not None and mask.device.type == "cuda" and mask.dim() > 0
    return dense(mask) if is_there and not (_is(mask.stride(-1), 1) or _is(mask.shape[-1], 1)) else mask


def dense(mask):
    """A copy with neighbours along the last dim, of one element for all that others stand for along the rest."""
    distinct = mask
    for dim, stride in enumerate(mask.stride()[:-1]):
        if _is(stride, 0) and not _is(mask.shape[dim], 0):
            distinct = distinct.narrow(dim, 0, 1)
    return distinct.clone(memory_format=torch.contiguous_format).expand(mask.shape)


def _is(size, number):
    """Without a guard of sizes that vary."""
    return isinstance(size, int) and size == number
