"""Parts of a graph whose sizes vary: what needs numbers for some of its sizes becomes a call of a part, which is compiled
for each set of these, and the rest stays one program for all sizes.

What lies between two such operators, or beside them and computes element by element, goes with them, so that kernels stay
whole; so does what sizes alone decide. A part is what of all that can run at once: every node has a stage. Part k holds
the chosen nodes of stage k; it runs after the other nodes of stage k, which need only parts before k.
"""

import operator

import torch

from ..aten_ops import Unsupported
from ..graph.program import Part
from ..pytorch.sizes import symbols_of
from .draws import may_draw
from .mapping import is_number
from .symbols import of_unknown_size, sizes_of, sources_of, without_sizes
from .views import viewed

# How many steps a path takes, at most, from one operator of a part to the next, on which nodes are taken along.
MAX_BETWEEN = 16


def without(gm, names, parameters, make):
    """A copy of the graph which calls Parts for the nodes of these names, and what goes with them. make(a part's graph, its
    `parameters`, as of lower()) gives its record and its function."""
    chosen = _taken_along(gm, {node for node in gm.graph.nodes if node.name in names})
    return _Cut(gm, chosen, parameters, make).gm


def _computes(node):
    return node.op == "call_function" and not is_number(node)


# ---- Which nodes ------------------------------------------------------------------------------------


def _taken_along(gm, needing):
    nodes = [node for node in gm.graph.nodes if _computes(node)]
    before = _distances(nodes, needing, lambda node: node.all_input_nodes)
    after = _distances(nodes[::-1], needing, lambda node: node.users)
    chosen = {node for node in nodes if node in needing or (
        node in before and node in after and before[node] + after[node] <= MAX_BETWEEN)}
    chosen |= {item.args[0] for item in chosen if item.target is operator.getitem}
    for node in nodes:
        if _is_item_of(node, chosen) or (_is_pointwise(node) and _goes_with(node.all_input_nodes, chosen)):
            chosen.add(node)
    closed = set()
    for node in nodes:
        if not may_draw(node) and all(source in closed or is_number(source) for source in node.all_input_nodes):
            closed.add(node)
    for node in nodes[::-1]:
        goes_along = _is_pointwise(node) or node in closed
        if goes_along and node.users and all(user in chosen for user in node.users):
            chosen.add(node)
    return chosen


def _distances(nodes, needing, neighbours):
    """{node: the longest way from it to one of `needing` that leads by no other}, of those from which any leads."""
    found = {}
    for node in nodes:
        ways = [0 if other in needing else found[other] for other in neighbours(node) if other in needing or other in found]
        if ways and node not in needing:
            found[node] = 1 + max(ways)
    return found


def _is_item_of(node, chosen):
    return node.target is operator.getitem and node.args[0] in chosen


def _is_pointwise(node):
    """Or does it show the same elements?"""
    is_pointwise = torch.Tag.pointwise in getattr(node.target, "tags", ()) and not may_draw(node)
    return is_pointwise or viewed(node) is not None


def _goes_with(sources, chosen):
    return any(source in chosen for source in sources) and all(
        source in chosen or not _computes(source) for source in sources)


# ---- The graph without them -------------------------------------------------------------------------


def _known():
    raise AssertionError("What follows from the sizes of a graph's inputs, nothing computes.")


class _Cut:
    def __init__(self, gm, chosen, parameters, make):
        self._gm = gm
        self._chosen = chosen
        self._make = make
        self._unknown = of_unknown_size(gm)
        inputs = gm.graph.find_nodes(op="placeholder")
        self._parameters = {inputs[place] for place in parameters}
        self._graph = torch.fx.Graph()
        self._made = {}  # Node of the whole graph -> node of this one.
        self._made_sizes = {}  # Name of a symbol -> node.
        stages = self._stages()
        last = max(stages.values(), default=0)
        for stage in range(last + 1):
            here = [node for node in gm.graph.nodes if stages.get(node) == stage]
            for node in here:
                if node not in chosen:
                    self._copy(node)
            part = [node for node in here if node in chosen]
            if part:
                self._call(part)
        output, = gm.graph.find_nodes(op="output")
        if any(node not in self._made for node in output.all_input_nodes):
            raise Unsupported("a graph that gives a size of which nothing is known")
        self._graph.output(torch.fx.node.map_arg(output.args[0], self._made.__getitem__))
        self.gm = torch.fx.GraphModule(gm, self._graph)

    def _stages(self):
        """What draws follows what draws before it. Sizes of which nothing is known are parts' own."""
        inside = self._chosen | self._unknown
        stages, drew = {}, None
        for node in self._gm.graph.nodes:
            if node.op == "output":
                continue
            stages[node] = 0
            if not _computes(node) and node not in inside:
                continue
            sources = list(node.all_input_nodes)
            if _computes(node) and may_draw(node):
                sources += [drew] if drew is not None else []
                drew = node
            for source in sources:
                leaves = source in inside and node not in inside
                if not is_number(source) or source in inside:
                    stages[node] = max(stages[node], stages[source] + leaves)
        return stages

    def _copy(self, node):
        if node.op == "call_function" and is_number(node):
            if node not in self._unknown:
                self._made[node] = self._size(node.meta["val"], node.name)
        else:
            self._made[node] = self._graph.node_copy(node, self._made.__getitem__)

    def _size(self, value, name):
        made = self._graph.create_node("call_function", _known, name=name)
        made.meta["val"] = value
        return made

    def _call(self, nodes):
        """One part."""
        inner = _Inner(self._gm, nodes, self._unknown)
        results = [node for node in nodes if any(self._reads(user) for user in node.users if user not in nodes)]
        if any(isinstance(node.meta.get("val"), (list, tuple)) for node in results):
            raise Unsupported("a part of a graph that gives lists of tensors")
        parameters = tuple(
            place for place, node in enumerate(inner.sources) if node in self._parameters or node.op == "get_attr")
        made = Part(
            *self._make(inner.module(results), parameters), any(may_draw(each) for each in nodes),
            (*(node.name for node in inner.sources), *inner.sizes.values()))
        call = self._graph.call_function(
            made, (*(self._made[node] for node in inner.sources), *(self._symbol(each) for each in inner.sizes)))
        call.meta["val"] = [
            without_sizes(node.meta["val"]) if node in self._unknown else node.meta.get("val") for node in results]
        for place, node in enumerate(results):
            self._made[node] = item = self._graph.create_node(
                "call_function", operator.getitem, (call, place), name=node.name)
            item.meta["val"] = call.meta["val"][place]

    def _symbol(self, name):
        if name not in self._made_sizes:
            self._made_sizes[name] = self._size(_value_of(self._gm, sources_of(self._gm)[name]), None)
        return self._made_sizes[name]

    def _reads(self, node):
        return node.op == "output" or not is_number(node) or node in self._unknown


class _Inner:
    """The graph of a part. `unknown`: of of_unknown_size()."""

    def __init__(self, gm, nodes, unknown):
        inside = _with_sizes(nodes, unknown)
        nodes = [node for node in gm.graph.nodes if node in inside]
        around = dict.fromkeys(source for node in nodes for source in node.all_input_nodes if source not in inside)
        modules = [source for source in around if _is_module(gm, source)]
        self.sources = [source for source in around if source not in modules]  # Its inputs, as the whole graph has them,
        self.graph = torch.fx.Graph()
        self._root = gm
        self._made = {source: self._input(source.name, source.meta.get("val")) for source in self.sources}
        self.sizes = {  # and after these sizes, by the names of symbols that its values have and no other input says.
            name: source for name, source in sources_of(gm).items()
            if name in _symbols_in([node.meta.get("val") for node in (*self.sources, *nodes)])
            and name not in sources_of(self)}
        for name, source in self.sizes.items():
            self._input(name, _value_of(gm, source))
        for node in (*modules, *nodes):
            self._made[node] = self.graph.node_copy(node, self._made.__getitem__)

    def _input(self, name, value):
        made = self.graph.placeholder(name)
        made.meta["val"] = value
        return made

    def module(self, results):
        self.graph.output(tuple(self._made[node] for node in results))
        return torch.fx.GraphModule(self._root, self.graph)


def _is_module(gm, node):
    return node.op == "get_attr" and isinstance(operator.attrgetter(node.target)(gm), torch.fx.GraphModule)


def _value_of(gm, source):
    """The symbol, as traced, that a SymbolSource of the graph says."""
    value = gm.graph.find_nodes(op="placeholder")[source.place].meta["val"]
    return value if source.kind == "value" else sizes_of(value, source.kind)[source.dim]


def _with_sizes(nodes, unknown):
    """With the sizes that they take and that nobody knows outside."""
    inside, left = set(nodes), list(nodes)
    while left:
        for source in left.pop().all_input_nodes:
            if source not in inside and source in unknown and is_number(source):
                inside.add(source)
                left.append(source)
    return inside


def _symbols_in(value):
    if isinstance(value, torch.Tensor):
        return {name for kind in ("size", "stride") for size in sizes_of(value, kind) for name in symbols_of(size)}
    if isinstance(value, (list, tuple)):
        return {name for item in value for name in _symbols_in(item)}
    return symbols_of(value)
