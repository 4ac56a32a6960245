"""Results that are views, as the graph makes them of what they are views of."""

import operator

import torch

from ...pytorch.aot import has_elements_twice
from ...pytorch.aot_runtime.words import OF_BASE
from ...pytorch.operators import OpOverload
from ..words.graphs import encode_eager
from ..words.values import NotPortable

_NOTHING = (torch.ops.aten.detach.default, torch.ops.aten.alias.default)


def views_of(gm, outputs, mutated):
    """For each of the `outputs` (of runtime_words) the text of a graph from what it is a view of to it; None where there is none,
    for one that is no view and for one that lies as numbers alone say: its gradient is right where no elements of what it is a
    view of are one, else it is NotPortable. `mutated`: how many results come before."""
    inputs = gm.graph.find_nodes(op="placeholder")
    results = list(gm.graph.output_node().args[0])[mutated:]
    return [
        _views_of(inputs, results, len(outputs), result, kind, base, requires_grad)
        for result, (kind, base, _, requires_grad, _) in zip(results, outputs)]


def _views_of(inputs, results, count, result, kind, base, requires_grad):
    if kind in ("plain", "is_input"):
        return None
    source = inputs[base] if kind == "alias_of_input" else results[count + base] if kind in OF_BASE else results[base]
    chain = _chain(result, source)
    if chain is not None:
        return encode_eager(_graph_of(chain, source))
    if requires_grad and has_elements_twice(source.meta["val"]):
        raise NotPortable("a view, of a tensor of which elements are one, that a graph does not make of it")
    return None


def _chain(node, source):
    """The calls between them, in order, if these are views with numbers for arguments."""
    chain = []
    while node is not source:
        if node.op != "call_function" or not node.args:
            return None
        is_view = node.target is operator.getitem or isinstance(node.target, OpOverload) and node.target.is_view
        if not is_view or node.all_input_nodes != [node.args[0]]:
            return None
        chain.insert(0, node)
        node = node.args[0]
    return [each for each in chain if each.target not in _NOTHING]


def _graph_of(chain, source):
    graph = torch.fx.Graph()
    last = graph.placeholder("base")
    last.meta["val"] = source.meta.get("val")
    for node in chain:
        last = graph.call_function(node.target, (last, *node.args[1:]), node.kwargs)
    graph.output((last,))
    return torch.fx.GraphModule(torch.nn.Module(), graph)
