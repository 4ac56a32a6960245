"""Attention that is given no mask that it needs not be given."""

import math

import torch

from ..aten_ops import attention
from ..graph import dims
from ..pytorch.operators import named_argument, set_argument
from . import known
from .elements import Elements
from .replacements import copy_of

aten = torch.ops.aten
_MASKS = ("attn_bias", "attn_mask")  # As operators name it.
# What PyTorch has cuDNN add, rounded, in place of -infinity (until pytorch#177868), by operators.
_LEAST_ADDED = {f"aten._scaled_dot_product_cudnn_attention{suffix}.default": -65504 for suffix in ("", "_backward")}


def without_known_masks(gm, operators):
    """The graph, or a copy of it in which masks that shapes alone decide are left out, whatever the sizes are: one that keeps
    everything is none, and a lower triangle is what attention calls causal. What has made them goes with them. `operators`:
    names of those of attention. None of a gradient's: it is given the mask that the forward was."""
    operators = [name for name in operators if not name.endswith("_backward.default")]
    if not any(_mask_of(node, operators) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    leave_out(gm, known_masks(gm, operators))
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm


def known_masks(gm, operators):
    """{name of an fx node of attention: what its mask is, "full" or "causal"}, of those of a graph that need not be given
    one."""
    closed = known.of_shapes_alone(gm.graph)
    made, patterns, found = known.Known(closed.__contains__), {}, {}
    for node in gm.graph.nodes:
        name = _mask_of(node, operators)
        if name is None:
            continue
        mask = _unexpanded(named_argument(node, name))
        queries, keys = (named_argument(node, each).meta["val"].shape[-2] for each in ("query", "key"))
        least = _LEAST_ADDED.get(str(node.target), -math.inf)
        pattern = patterns.setdefault(least, _Patterns(made, Elements(least))).of(mask, queries, keys)
        if pattern == "full" or (pattern == "causal" and dims.same((queries,), (keys,)) and _may_be_causal(node)):
            found[node.name] = pattern
    return found


def leave_out(gm, found):
    """The masks that known_masks() found, of this graph or a copy of it."""
    for node in gm.graph.nodes:
        if node.name in found:
            set_argument(node, _mask_of(node, (str(node.target),)), None)
            set_argument(node, "is_causal", found[node.name] == "causal" or named_argument(node, "is_causal"))


def _mask_of(node, operators):
    """The name of the argument, if it is attention with a mask."""
    if str(node.target) not in operators:
        return None
    return next((mask for mask in _MASKS if isinstance(named_argument(node, mask), torch.fx.Node)), None)


def _may_be_causal(node):
    """Kernels scale what they keep out: by less than nothing it would be all that counts."""
    scale = named_argument(node, "scale")
    return scale is None or isinstance(scale, (int, float)) and scale > 0


class _Patterns:
    """Of masks by their elements: what holds for all sizes, or what a tensor of these sizes, that can be made, has."""

    def __init__(self, made, elements):
        self._made = made
        self._elements = elements

    def of(self, mask, queries, keys):
        found = self._elements.pattern(mask, queries, keys)
        if found is None and type(queries) is int and type(keys) is int:
            found = attention.pattern_of(_as_infinite(self._made.tensor(mask), self._elements.least), queries, keys)
        return found


def _as_infinite(mask, least):
    is_added = mask is not None and mask.is_floating_point()
    return mask.masked_fill(mask <= least, -math.inf) if is_added else mask


def _unexpanded(node):
    """Before it was seen for each batch and head: it holds the same elements."""
    while node.target is aten.expand.default:
        source = node.args[0].meta["val"]
        if not dims.same(source.shape[-2:], node.meta["val"].shape[-2:]):
            break
        node = node.args[0]
    return node
