"""Products of the same rows for attention, its queries, keys and values, on GPUs as one: a product of a thousand rows with a
small weight takes as long there as one with all of them.

The weights are put side by side by a kernel in every call: nothing is kept of what weights hold."""

import torch

from ..graph.layout import is_tensor
from ..pytorch.operators import VIEWS
from .replacements import call, copy_of
from .views import owner_of, viewed

aten = torch.ops.aten

_PRODUCTS = (aten.addmm.default, aten.mm.default)
_TYPES = (torch.bfloat16, torch.float16, torch.float32)
# Where a product ends with results fewer than so many, multiprocessors have nothing to do: about one tile of 128 x 128 for
# each of those of a Hopper GPU.
_MOST_RESULTS = 132 << 14
_FEWEST_ROWS = 64  # Fewer take as long as reading the weight, which is read and written once more.
_MOST_BYTES = 4 << 20  # Of a weight: copied in 3 us, where a product that is saved takes 7 to 10.
_ALIGNED = 16  # Bytes: what kernels of attention load at once.


def merged(gm, attention):
    """The graph, or a copy of it with such products as one. `attention`: names of the operators."""
    if not _families(gm.graph, attention):
        return gm
    gm = copy_of(gm)
    for family in _families(gm.graph, attention):
        _merge(gm.graph, family)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm


# ---- Which -----------------------------------------------------------------------------------------


def _families(graph, attention):
    """[[fx node]], of products that can be one."""
    families = {}
    for node in graph.nodes:
        if _may_merge(node, attention):
            families.setdefault(_key(node), []).append(node)
    return [family for family in families.values() if len(family) > 1]


def _may_merge(node, attention):
    """Is it a product with a weight that is there from the start, read by attention alone, and small enough?"""
    if node.target not in _PRODUCTS or node.kwargs or not _is_sized(node):
        return False
    rows, weight = node.args[-2:]
    bias = node.args[0] if node.target is _PRODUCTS[0] else None
    of_weight = owner_of(weight)
    if weight.target is not aten.t.default or weight.args[0] is not of_weight or not _is_held(of_weight, 2):
        return False
    if bias is not None and not _is_held(bias, 1):
        return False
    value = node.meta["val"]
    row_bytes = value.shape[1] * value.element_size()
    return (
        value.shape[0] >= _FEWEST_ROWS and value.numel() <= _MOST_RESULTS and row_bytes % _ALIGNED == 0
        and row_bytes * rows.meta["val"].shape[1] <= _MOST_BYTES and _is_for(node, attention))


def _is_sized(node):
    value = node.meta.get("val")
    return (isinstance(value, torch.Tensor) and value.dtype in _TYPES and 0 not in value.shape
            and all(type(size) is int for size in value.shape))


def _is_held(node, rank):
    return node.op == "placeholder" and _is_sized(node) and node.meta["val"].dim() == rank and node.meta["val"].is_contiguous()


def _is_for(node, attention):
    """Does nothing but attention read it, as views?"""
    return bool(node.users) and all(
        str(user.target) in attention or ((viewed(user) is node or user.target in VIEWS) and _is_for(user, attention))
        for user in node.users)


def _key(node):
    """The same for products that can be one: the same rows, and what is added and of which type."""
    return node.target, _rows_of(node.args[-2]), node.meta["val"].dtype


def _rows_of(node):
    """Each product may have its own view of them."""
    if node.target in VIEWS and is_tensor(node.args[0].meta.get("val")):
        return node.target, tuple(node.args[1]), _rows_of(node.args[0])
    return node


# ---- What takes their place ---------------------------------------------------------------------------


def _merge(graph, products):
    first = products[0]
    weights = [product.args[-1].args[0] for product in products]
    with graph.inserting_before(first):
        weight = _side_by_side(graph, weights)
        weight = call(graph, aten.t.default, (weight,), weight.meta["val"].t())
        operands = (first.args[-2], weight)
        if first.target is _PRODUCTS[0]:
            operands = _side_by_side(graph, [product.args[0] for product in products]), *operands
        rows = first.meta["val"].shape[0]
        columns = weight.meta["val"].shape[1]
        product = call(graph, first.target, operands, first.meta["val"].new_empty((rows, columns)))
        begin = 0
        for each in products:
            end = begin + each.meta["val"].shape[1]
            part = call(graph, aten.slice.Tensor, (product, 1, begin, end), product.meta["val"][:, begin:end])
            each.replace_all_uses_with(part)
            _look_again(part)
            begin = end


def _side_by_side(graph, nodes):
    values = [node.meta["val"] for node in nodes]
    shape = (sum(value.shape[0] for value in values), *values[0].shape[1:])
    return call(graph, aten.cat.default, (nodes,), values[0].new_empty(shape))


def _look_again(source):
    """What views of it see lies otherwise now."""
    for user in source.users:
        if user.target in VIEWS:
            user.target = aten.view.default
        if viewed(user) is source:
            user.meta["val"] = user.target(source.meta["val"], *user.args[1:], **user.kwargs)
            _look_again(user)
