"""Outputs of a graph that its caller copies into inputs: the graph may make them there."""

import torch

from ..graph.dims import same
from ..graph.layout import DTYPES, is_tensor, layout_of
from ..pytorch.aot import UPDATED_BY


def updates_in(gm):
    """{fx node that one output is: the input that the caller copies it into}, of those that lie like these. Neither may be
    another output too: whoever has that does not expect it to change with the input."""
    output, = gm.graph.find_nodes(op="output")
    results = list(output.args[0])
    updates = {}
    for source in gm.graph.find_nodes(op="placeholder"):
        node = results[source.meta[UPDATED_BY]] if UPDATED_BY in source.meta else None
        if isinstance(node, torch.fx.Node) and results.count(node) == 1 and source not in results:
            if _lie_alike(node.meta.get("val"), source.meta.get("val")):
                updates[node] = source
    return updates


def _lie_alike(value, into):
    if not is_tensor(value) or None in value.shape or value.dtype != into.dtype or into.dtype not in DTYPES:
        return False
    if value.device != into.device:
        return False
    layout, wanted = layout_of(value), layout_of(into)
    return layout.order is not None and layout.order == wanted.order and (
        same(layout.shape, wanted.shape) and same(layout.strides, wanted.strides))
