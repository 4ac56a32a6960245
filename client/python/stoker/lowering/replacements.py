"""Calls put into a graph in the place of a node, and what a trace would say of them."""

import dataclasses

import torch

from ..graph.layout import row_major


class Replacement:
    """Adds calls after a node of a graph, which are to stand for it."""

    def __init__(self, graph, node):
        self.node = node
        self._graph = graph
        self._last = node
        self._made = set()

    def call(self, target, arguments, value):
        """`value`: what it gives, traced."""
        with self._graph.inserting_after(self._last):
            self._last = made = self._graph.call_function(target, arguments)
        made.meta["val"] = value
        self._made.add(made)
        return made

    def take(self, result):
        """`result` is what the node's users read from now on."""
        self.node.replace_all_uses_with(result, delete_user_cb=lambda user: user not in self._made)
        if not self.node.users:
            self._graph.erase_node(self.node)


def copy_of(gm):
    """A module whose graph can be changed."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    return torch.fx.GraphModule(gm, graph)


def call(graph, target, arguments, value, **keywords):
    """A call where nodes are inserted now. `value`: what it gives, traced."""
    made = graph.call_function(target, arguments, keywords)
    made.meta["val"] = value
    return made


def permuted(value, order):
    """With these dims in this order; others have one element."""
    shape, strides = ([sizes[dim] for dim in order] for sizes in (value.shape, value.stride()))
    if isinstance(value, torch.Tensor):
        return value.as_strided(shape, strides)
    return dataclasses.replace(value, shape=tuple(shape), strides=tuple(strides))


def lying(value, order):
    """One of the same shape, with its dims in this order in memory."""
    strides = [0] * len(order)
    for dim, stride in zip(order, row_major([value.shape[dim] for dim in order]).strides):
        strides[dim] = stride
    if isinstance(value, torch.Tensor):
        return value.new_empty_strided(value.shape, strides)
    return dataclasses.replace(value, strides=tuple(strides))


def retyped(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    return dataclasses.replace(value, dtype=dtype)


def viewed(value, shape):
    if isinstance(value, torch.Tensor):
        return value.view(shape)
    return dataclasses.replace(value, shape=shape, strides=row_major(shape).strides)


def last_of_channels(value):
    """The order of an image's dims with channels last."""
    return (0, *range(2, len(value.shape)), 1)
