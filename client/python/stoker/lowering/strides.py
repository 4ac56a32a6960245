"""Tensors that a graph gives other strides, with the same elements in the same places."""

import torch

from ..graph.layout import is_tensor

aten = torch.ops.aten


def without_restriding(gm):
    """The graph, or a copy of it in which what is no output keeps its strides where they differ along dims of one element
    alone: PyTorch sets those to say how an image lies."""
    if not any(map(_is_restriding, gm.graph.nodes)):
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    for node in list(graph.nodes):
        if _is_restriding(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return torch.fx.GraphModule(gm, graph)


def _is_restriding(node):
    if node.target is not aten.as_strided.default or len(node.args) < 3 or any(
            user.op == "output" for user in node.users):
        return False
    source, shape, strides, *offset = node.args
    value = source.meta.get("val")
    if not is_tensor(value) or tuple(value.shape) != tuple(shape) or any(each is not None for each in offset):
        return False
    return all(size == 1 or one == other for size, one, other in zip(shape, strides, value.stride()))
