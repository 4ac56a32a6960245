"""Convolutions where PyTorch's libraries compute them: as products of matrices where they are such, else without what
kernels do after them."""

import dataclasses
from math import prod

import torch

from ..graph.layout import layout_of, row_major

aten = torch.ops.aten

# f32 stays a convolution: whether it may lose digits is another setting than for products.
_DTYPES_OF_PRODUCTS = (torch.bfloat16, torch.float16)
# Rows of a product that are no multiple of so many elements are read element by element.
_ALIGNED = 8


def taken_apart(gm):
    """The graph, or one that computes the same with each convolution as it runs."""
    if not any(_makers_of(node) for node in gm.graph.nodes):
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    for node in list(graph.nodes):
        for make in _makers_of(node):
            result = make(_Before(graph, node), *node.args[:3])
            node.replace_all_uses_with(result, delete_user_cb=lambda user: user.meta.get("made_of") is not node)
            if not node.users:
                graph.erase_node(node)
    return torch.fx.GraphModule(gm, graph)


def _makers_of(node):
    """What makes it otherwise; one function, or none."""
    if node.target is not aten.convolution.default:
        return []
    x, weight = (source.meta["val"] for source in node.args[:2])
    result = node.meta["val"]
    if _is_of_one_place(node, x, weight):
        if layout_of(_permuted(result, _channels_last(result))).order == tuple(range(len(result.shape))):
            return [_as_rows]
        is_plain = all(layout_of(value).order == tuple(range(len(value.shape))) for value in (x, result))
        places = prod(result.shape[2:])
        if is_plain and type(places) is int and places % _ALIGNED == 0:
            return [_as_columns]
    return [_with_bias_after] if node.args[2] is not None else []


def _is_of_one_place(node, x, weight):
    _, _, _, stride, padding, _, transposed, _, groups = node.args
    return (
        x.dtype in _DTYPES_OF_PRODUCTS and len(x.shape) == len(weight.shape) and groups == 1 and not transposed
        and all(size == 1 for size in (*weight.shape[2:], *stride)) and not any(padding))


class _Before:
    """Adds calls to a graph, around a node."""

    def __init__(self, graph, node):
        self.node = node
        self._graph = graph
        self._last = node

    def call(self, target, arguments, value):
        with self._graph.inserting_after(self._last):
            self._last = made = self._graph.call_function(target, arguments)
        made.meta["val"] = value
        made.meta["made_of"] = self.node
        return made


def _as_rows(before, x, weight, bias):
    """A row for each place, of all its channels."""
    result = before.node.meta["val"]
    last = _channels_last(result)
    first = (0, len(last) - 1, *range(1, len(last) - 1))
    rows = before.call(aten.permute.default, (x, list(last)), _permuted(x.meta["val"], last))
    matrix = _matrix_of(before, weight)
    product = before.call(aten.linear.default, (rows, matrix, bias), _permuted(result, last))
    return before.call(aten.permute.default, (product, list(first)), result)


def _as_columns(before, x, weight, bias):
    """A column for each place."""
    result, image = before.node.meta["val"], x.meta["val"]
    shapes = [(*value.shape[:2], prod(value.shape[2:])) for value in (image, result)]
    columns = before.call(aten.view.default, (x, list(shapes[0])), _viewed(image, shapes[0]))
    product = before.call(aten.matmul.default, (_matrix_of(before, weight), columns), _viewed(result, shapes[1]))
    whole = before.call(aten.view.default, (product, list(result.shape)), result)
    return whole if bias is None else _sum(before, whole, bias)


def _matrix_of(before, weight):
    value = weight.meta["val"]
    places = list(range(2, len(value.shape)))
    return before.call(aten.squeeze.dims, (weight, places), _permuted(value, (0, 1)))


def _with_bias_after(before, x, weight, bias):
    """As PyTorch does around its libraries: the sum is rounded, then the bias is added."""
    node = before.node
    node.args = (*node.args[:2], None, *node.args[3:])
    return _sum(before, node, bias)


def _sum(before, product, bias):
    result = product.meta["val"]
    places = (bias.meta["val"].shape[0], *[1] * (len(result.shape) - 2))
    column = before.call(aten.view.default, (bias, list(places)), _viewed(bias.meta["val"], places))
    return before.call(aten.add.Tensor, (product, column), result)


# ---- Traced values ----------------------------------------------------------------------------------


def _channels_last(value):
    return (0, *range(2, len(value.shape)), 1)


def _permuted(value, order):
    """With these dims in this order; others have one element."""
    shape, strides = ([sizes[dim] for dim in order] for sizes in (value.shape, value.stride()))
    if isinstance(value, torch.Tensor):
        return value.as_strided(shape, strides)
    return dataclasses.replace(value, shape=tuple(shape), strides=tuple(strides))


def _viewed(value, shape):
    if isinstance(value, torch.Tensor):
        return value.view(shape)
    return dataclasses.replace(value, shape=shape, strides=row_major(shape).strides)
