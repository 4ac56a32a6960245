"""Masks of attention as PyTorch's fused kernels take them: with neighbours along the keys."""

import math

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
    it lies to choose a kernel, and would write down all scores. Where there are gradients it may: those of a fused kernel
    with a mask are not always right (pytorch#196678)."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        if func is scaled_dot_product_attention:
            query = args[0] if args else keywords["query"]
            if len(args) > _MASK:
                args = (*args[:_MASK], _as_read(args[_MASK], query), *args[_MASK + 1:])
            elif "attn_mask" in keywords:
                keywords = {**keywords, "attn_mask": _as_read(keywords["attn_mask"], query)}
        return func(*args, **keywords)


def _as_read(mask, query):
    if mask is None or mask.device.type != "cuda" or mask.dim() == 0 or _is(mask.stride(-1), 1) or _is(mask.shape[-1], 1):
        return mask
    # cuDNN takes other floats for the query's (pytorch#191612).
    if mask.dtype not in (torch.bool, query.dtype) or (torch.is_grad_enabled() and query.requires_grad):
        return mask
    return dense(mask) if mask.dtype != torch.bool else added(mask, query.dtype)


def added(mask, dtype):
    """What a mask of what is kept adds to scores. PyTorch's own conversion for cuDNN has a finite number for what is dropped
    (until pytorch#177868): where nothing is kept, all would be."""
    distinct = _distinct(mask)
    nothing = torch.zeros((), dtype=dtype, device=mask.device)
    scores = torch.where(distinct, nothing, torch.full_like(nothing, -math.inf))
    return scores.contiguous().expand(mask.shape)


def dense(mask):
    """A copy with neighbours along the last dim, of one element for all that others stand for along the rest."""
    return _distinct(mask).clone(memory_format=torch.contiguous_format).expand(mask.shape)


def _distinct(mask):
    for dim, stride in enumerate(mask.stride()[:-1]):
        if _is(stride, 0) and not _is(mask.shape[dim], 0):
            mask = mask.narrow(dim, 0, 1)
    return mask


def _is(size, number):
    """Without a guard of sizes that vary."""
    return isinstance(size, int) and size == number
