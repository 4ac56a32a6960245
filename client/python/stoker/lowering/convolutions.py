"""Convolutions where PyTorch's libraries compute them: as products of matrices where they are such, else without what
kernels do after them."""

from math import prod

import torch

from ..graph.layout import layout_of
from .replacements import Replacement, copy_of, last_of_channels, permuted, viewed

aten = torch.ops.aten

# f32 stays a convolution: whether it may lose digits is another setting than for products.
_DTYPES_OF_PRODUCTS = (torch.bfloat16, torch.float16)
# Rows of a product that are no multiple of so many elements are read element by element.
_ALIGNED = 8


def taken_apart(gm):
    """The graph, or one that computes the same with each convolution as it runs."""
    if not any(_makers_of(node) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    for node in list(gm.graph.nodes):
        for make in _makers_of(node):
            instead = Replacement(gm.graph, node)
            instead.take(make(instead, *node.args[:3]))
    gm.recompile()
    return gm


def _makers_of(node):
    """What makes it otherwise; one function, or none."""
    if node.target is not aten.convolution.default:
        return []
    x, weight = (source.meta["val"] for source in node.args[:2])
    result = node.meta["val"]
    if is_of_one_place(node):
        if layout_of(permuted(result, last_of_channels(result))).order == tuple(range(len(result.shape))):
            return [_as_rows]
        is_plain = all(layout_of(value).order == tuple(range(len(value.shape))) for value in (x, result))
        places = prod(result.shape[2:])
        if is_plain and type(places) is int and places % _ALIGNED == 0:
            return [_as_columns]
    return [_with_bias_after] if node.args[2] is not None else []


def is_of_one_place(node):
    """Is a convolution a product of matrices, of a type for which it becomes one?"""
    x, weight = (source.meta["val"] for source in node.args[:2])
    _, _, _, stride, padding, _, transposed, _, groups = node.args
    return (
        x.dtype in _DTYPES_OF_PRODUCTS and len(x.shape) == len(weight.shape) and groups == 1 and not transposed
        and all(size == 1 for size in (*weight.shape[2:], *stride)) and not any(padding))


def _as_rows(instead, x, weight, bias):
    """A row for each place, of all its channels."""
    result = instead.node.meta["val"]
    last = last_of_channels(result)
    first = (0, len(last) - 1, *range(1, len(last) - 1))
    rows = instead.call(aten.permute.default, (x, list(last)), permuted(x.meta["val"], last))
    matrix = _matrix_of(instead, weight)
    product = instead.call(aten.linear.default, (rows, matrix, bias), permuted(result, last))
    return instead.call(aten.permute.default, (product, list(first)), result)


def _as_columns(instead, x, weight, bias):
    """A column for each place."""
    result, image = instead.node.meta["val"], x.meta["val"]
    shapes = [(*value.shape[:2], prod(value.shape[2:])) for value in (image, result)]
    columns = instead.call(aten.view.default, (x, list(shapes[0])), viewed(image, shapes[0]))
    product = instead.call(aten.matmul.default, (_matrix_of(instead, weight), columns), viewed(result, shapes[1]))
    whole = instead.call(aten.view.default, (product, list(result.shape)), result)
    return whole if bias is None else _sum(instead, whole, bias)


def _matrix_of(instead, weight):
    value = weight.meta["val"]
    places = list(range(2, len(value.shape)))
    return instead.call(aten.squeeze.dims, (weight, places), permuted(value, (0, 1)))


def _with_bias_after(instead, x, weight, bias):
    """As PyTorch does around its libraries: the sum is rounded, then the bias is added."""
    node = instead.node
    node.args = (*node.args[:2], None, *node.args[3:])
    return _sum(instead, node, bias)


def _sum(instead, product, bias):
    result = product.meta["val"]
    places = (bias.meta["val"].shape[0], *[1] * (len(result.shape) - 2))
    column = instead.call(aten.view.default, (bias, list(places)), viewed(bias.meta["val"], places))
    return instead.call(aten.add.Tensor, (product, column), result)
