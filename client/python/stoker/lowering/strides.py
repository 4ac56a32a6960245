"""Tensors that a graph sees with other strides: where both are all of one memory, dims in another order."""

from math import prod
from typing import NamedTuple

import torch

from ..graph.dims import Dim, same
from ..graph.layout import is_tensor, layout_of
from .replacements import Replacement, copy_of, permuted, viewed

aten = torch.ops.aten


class _Seen(NamedTuple):
    shape: tuple
    strides: tuple

    def stride(self):
        return self.strides


def without_restriding(gm):
    """The graph, or a copy of it that says by views what as_strided and its gradient do there. PyTorch uses them to say how
    an image of one place lies."""
    if not any(_is_restriding(each) for each in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    for node in list(gm.graph.nodes):
        if _is_restriding(node):
            instead = Replacement(gm.graph, node)
            instead.take(_by_views(instead, node))
    gm.recompile()
    return gm


def _parts(node):
    """(what is seen, _Seen, where it begins); None of another operator."""
    if node.target is aten.as_strided.default:
        source, *numbers = node.args
    elif node.target is aten.as_strided_scatter.default:
        source, _, *numbers = node.args
    else:
        return None
    shape, strides, *offset = torch.fx.node.map_arg(numbers, lambda number: number.meta["val"])
    return source, _Seen(tuple(shape), tuple(strides)), offset[0] if offset else None


def _is_restriding(node):
    parts = _parts(node)
    if parts is None or any(user.op == "output" for user in node.users):  # Its strides are looked at.
        return False
    source, seen, offset = parts
    value = source.meta.get("val")
    if not is_tensor(value) or (offset is not None and not same((offset,), (value.storage_offset(),))):
        return False
    if not all(type(size) in (int, Dim) for size in (*value.shape, *seen.shape, *seen.strides)):
        return False
    is_whole = same((prod(value.shape),), (prod(seen.shape),))
    return is_whole and layout_of(value).order is not None and layout_of(seen).order is not None


def _by_views(instead, node):
    source, seen, _ = _parts(node)
    here, there, reshape = layout_of(source.meta["val"]), layout_of(seen), aten.view.default
    if node.target is aten.as_strided_scatter.default:  # Nothing is left of what is scattered into.
        source, here, there, reshape = node.args[1], there, here, aten.reshape.default
    value = permuted(source.meta["val"], here.order)
    memory = instead.call(aten.permute.default, (source, list(here.order)), value)
    shape = there.physical_shape
    value = value.contiguous() if isinstance(value, torch.Tensor) else value
    whole = instead.call(reshape, (memory, list(shape)), viewed(value, shape))
    return instead.call(aten.permute.default, (whole, there.places), node.meta["val"])
