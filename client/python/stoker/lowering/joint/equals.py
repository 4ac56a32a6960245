"""Calls of a graph that give the same as others."""

import torch

from ...aten_ops import RULES
from ...graph.layout import is_tensor
from ...pytorch.operators import OpOverload
from ..views import owner_of


def merge(graph, sides):
    """Equal ones on one side of a graph of forward and backward become one: what is kept for the backward is kept once. None of
    which a result shows the memory: whether results share it is seen. `sides`: a joint_graph.Sides of the graph."""
    shown = {owner_of(result) for result in graph.output_node().all_input_nodes}
    first = {}
    for node in graph.nodes:
        if node in shown or not _is_function(node):
            continue
        # A node's text is its name, which no other node has.
        key = node in sides.forward, node.target, repr(node.args), repr(node.kwargs)
        earlier = first.setdefault(key, node)
        if earlier is not node:
            node.replace_all_uses_with(earlier)
            graph.erase_node(node)
            sides.forward.discard(node)


def _is_function(node):
    """Of what it is given alone?"""
    target = node.target
    return (node.op == "call_function" and isinstance(target, OpOverload) and str(target) in RULES
            and is_tensor(node.meta.get("val")) and torch.Tag.nondeterministic_seeded not in target.tags)
