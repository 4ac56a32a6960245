"""as_strided counts elements of memory: of an input's, which PyTorch sees, or of what a graph has computed, which kernels
may have written elsewhere, or not at all."""

import torch

from ..aten_ops import Unsupported
from ..graph.layout import layout_of
from .views import owner_of, viewed

aten = torch.ops.aten

COUNTING = frozenset((aten.as_strided.default, aten.as_strided_copy.default, aten.as_strided_scatter.default))


def is_of_input(node):
    """Does it count elements of memory that is there before the graph runs?"""
    return node.target in COUNTING and owner_of(node.args[0]).op in ("placeholder", "get_attr")


def _is_of_computed(node):
    return node.target in COUNTING and not is_of_input(node)


def of_computed(gm, unseen=frozenset()):
    """What from_first() looks at: the fx nodes that count, and what they count elements of. None of `unseen`, which nobody
    computes."""
    found = []
    for node in gm.graph.nodes:
        if node not in unseen and _is_of_computed(node):
            source = node.args[0]
            found += [node, source]
            while (source := viewed(source)) is not None:
                found.append(source)
    return found


def from_first(gm):
    """The graph, or a copy of it in which what is computed lies row-major where its elements are counted, the first of
    them the first of the memory. All sizes are numbers. Unsupported where others are counted than its own."""
    if not any(_is_of_computed(each) for each in gm.graph.nodes):
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    for node in list(graph.nodes):
        if _is_of_computed(node):
            _count_from_first(graph, node)
    return torch.fx.GraphModule(gm, graph)


def _count_from_first(graph, node):
    scatters = node.target is aten.as_strided_scatter.default
    x, *source = node.args[:2 if scatters else 1]
    sizes, strides, begins = torch.fx.node.map_arg(
        [*node.args[1 + len(source):], node.kwargs.get("storage_offset")][:3], lambda number: number.meta["val"])
    value = x.meta["val"]
    layout, first = layout_of(value), value.storage_offset()
    begins = (first if begins is None else begins) - first
    last = begins + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if layout.order is None or begins < 0 or last >= value.numel() and 0 not in sizes:
        raise Unsupported("strides that lead out of what is computed")
    with graph.inserting_before(node):
        lies = _call(graph, aten.permute.default, (x, list(layout.order)), value.permute(layout.order))
        if first:  # In eager it has memory around it.
            lies = _call(graph, aten.clone.default, (lies,), torch.empty_like(lies.meta["val"]))
    if not scatters:
        node.args, node.kwargs = (lies, sizes, strides, begins), {}
        return
    with graph.inserting_before(node):
        made = _call(
            graph, node.target, (lies, *source, sizes, strides, begins),
            torch.empty(layout.physical_shape, dtype=value.dtype, device=value.device))
        result = _call(graph, aten.permute.default, (made, layout.places), node.meta["val"])
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _call(graph, target, arguments, value):
    made = graph.call_function(target, arguments)
    made.meta["val"] = value
    return made
