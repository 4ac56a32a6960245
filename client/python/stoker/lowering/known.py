"""Tensors that shapes alone decide, computed while a graph is lowered: masks are looked at so."""

import operator

import torch

from ..base.signals import let_through
from ..graph.layout import is_tensor
from ..pytorch import devices
from ..pytorch.operators import OpOverload
from .draws import may_draw

# Largest tensor that is computed.
MAX_ELEMENTS = 1 << 22


def of_shapes_alone(graph):
    """The fx nodes of a functional graph that depend on none of its inputs, and on nothing drawn or left in memory."""
    found = set()
    for node in graph.nodes:
        if node.op == "call_function" and _is_pure(node) and all(source in found for source in node.all_input_nodes):
            found.add(node)
    return found


def _is_pure(node):
    if node.target is operator.getitem:
        return True
    is_operator = isinstance(node.target, OpOverload) and node.target.namespace in ("aten", "prims")
    return is_operator and not may_draw(node) and "empty" not in str(node.target)


class Known:
    """`is_closed`(fx node): do shapes alone decide it?"""

    def __init__(self, is_closed):
        self._is_closed = is_closed
        self._found = {}  # fx node -> the tensor on the CPU, or None.

    def tensor(self, node):
        if node not in self._found:
            self._found[node] = self._computed(node) if self._is_closed(node) else None
        return self._found[node]

    def _computed(self, node):
        size = node.meta["val"].numel() if is_tensor(node.meta["val"]) else 0
        sources = {source: self.tensor(source) for source in node.all_input_nodes}
        if size > MAX_ELEMENTS or any(x is None for x in sources.values()):
            return None
        given = torch.fx.node.map_arg((node.args, node.kwargs), sources.get)
        arguments, keywords = torch.fx.node.map_aggregate(given, _on_cpu)
        try:
            return node.target(*arguments, **keywords)
        except Exception as error:  # The program says so itself, when it comes to it.
            let_through(error)
            return None


def _on_cpu(argument):
    return devices.CPU if isinstance(argument, torch.device) else argument
