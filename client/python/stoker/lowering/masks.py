"""Attention where PyTorch's libraries compute it: given no mask that it needs not be given."""

import torch

from ..aten_ops import attention
from ..pytorch.operators import named_argument, set_argument
from . import known
from .replacements import copy_of

aten = torch.ops.aten
_MASK = "attn_bias"


def without_known_masks(gm, operators):
    """The graph, or a copy of it in which masks that shapes alone decide are left out: one that keeps everything is none, and
    a lower triangle is what the libraries call causal. What has made them goes with them. `operators`: names of the
    libraries' attention."""
    if not any(_is_masked(node, operators) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    closed = known.of_shapes_alone(gm.graph)
    masks = known.Known(closed.__contains__)
    for node in gm.graph.nodes:
        if not _is_masked(node, operators):
            continue
        mask = _unexpanded(named_argument(node, _MASK))
        queries, keys = (named_argument(node, name).meta["val"].shape[-2] for name in ("query", "key"))
        pattern = attention.pattern_of(masks.tensor(mask), queries, keys) if mask in closed else None
        if pattern == "full" or (pattern == "causal" and queries == keys):
            set_argument(node, _MASK, None)
            set_argument(node, "is_causal", pattern == "causal" or named_argument(node, "is_causal"))
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm


def _is_masked(node, operators):
    """Attention with a mask. Its gradient is given the mask that the forward was."""
    name = str(node.target)
    is_attention = name in operators and not name.endswith("_backward.default")
    return is_attention and isinstance(named_argument(node, _MASK), torch.fx.Node)


def _unexpanded(node):
    """Before it was seen for each batch and head: it holds the same elements."""
    while node.target is aten.expand.default:
        source = node.args[0].meta["val"]
        if tuple(source.shape[-2:]) != tuple(node.meta["val"].shape[-2:]):
            break
        node = node.args[0]
    return node
