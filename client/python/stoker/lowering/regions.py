"""Operators that run graphs of their own, again and again: their graphs become regions of a node.

All that a graph does must have a rule: PyTorch is not called within.
"""

import operator

import torch

from ..aten_ops import RULES, Unsupported, require_kernel
from ..graph.dims import Dim
from ..graph.layout import DTYPES, is_tensor, layout_of, row_major
from ..graph.text import GraphText, NoKernel
from ..graph.values import Value
from ..pytorch.operators import fake_mode
from .counted import COUNTING
from .mapping import NUMBERS, Mapping

_MAX_DEPTH = 8  # Of graphs in graphs: kMaxRegionDepth of protocol/graph/region.h.
_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def rule_of(target, device, depth=0):
    """As of RULES, for operators with graphs; None for others. `depth`: how many graphs it is in."""
    rule = _LOOPS.get(str(target))
    if rule is None:
        return None

    def region(gm, given):
        return _region(gm, given, device, depth)

    return lambda g, out, *args, **kwargs: rule(region, g, out, *args, **kwargs)


def _while(region, g, out, condition, body, carried, stays):
    given = _tensors(carried) + stays
    regions = f" {{condition={region(condition, given)}, body={region(body, given)}}}"
    return g.nodes("while", _operands(given), regions, out)


def _scan(region, g, out, body, carried, scanned, stays):
    if not scanned:
        raise Unsupported("nothing to scan")
    rows = [Value(None, x.dtype, x.shape[1:]) for x in _tensors(scanned)]
    stepped = region(body, _tensors(carried) + rows + stays)
    attributes = f" {{body={stepped}, carried={len(carried)}, scanned={len(scanned)}}}"
    return g.nodes("scan", _operands([*carried, *scanned, *stays]), attributes, out)


_LOOPS = {"while_loop": _while, "scan": _scan}


def _tensors(values):
    if not all(isinstance(value, Value) for value in values):
        raise Unsupported("a number that changes from trip to trip")
    return list(values)


def _operands(values):
    """A number that stays is one of the graph's own."""
    return tuple(value for value in values if isinstance(value, Value))


def _region(gm, given, device, depth):
    """The text of a graph that is given Values like these, and numbers."""
    if device.type != "cpu":
        raise Unsupported("loops run on CPUs alone")
    if depth == _MAX_DEPTH:
        raise Unsupported(f"graphs that nest deeper than {_MAX_DEPTH}")
    sizes = [value.shape if isinstance(value, Value) else (value,) for value in given]
    if any(isinstance(size, Dim) for shape in sizes for size in shape):
        raise Unsupported("a loop over sizes that vary")
    return _Region(gm, given, device, depth + 1).text_of()


class _Region(Mapping):
    def __init__(self, gm, given, device, depth):
        super().__init__(GraphText("region"), device)
        self._gm = gm
        self._depth = depth
        self._known = _values_in(gm, given)
        self._given = iter(given)
        for node in gm.graph.nodes:
            getattr(self, f"_visit_{node.op}")(node)

    def text_of(self):
        _, nodes = self.text.live(self._returned)
        checks, _ = self.text.checks_of(nodes)
        if checks:
            raise Unsupported("in its graph: indices that have to be looked at")
        return self.text.text(range(len(self.text.inputs)), nodes, self._returned).strip()

    def known(self, node):
        return self._known.get(node)

    def missing(self, node, known):
        if node.op == "get_attr" and isinstance(known, torch.fx.GraphModule):
            return known
        return super().missing(node, known)

    def _visit_placeholder(self, node):
        value = next(self._given)
        self.values[node] = self.text.input(value.dtype, value.shape) if isinstance(value, Value) else value

    def _visit_get_attr(self, node):
        pass  # Another graph, or what has no rule.

    def _visit_call_function(self, node):
        name = str(node.target)
        if isinstance(self.known(node), NUMBERS):
            return
        if node.target is operator.getitem:
            source, index = node.args
            self.values[node] = self.values[source][index]
            return
        rule = RULES.get(name) or rule_of(node.target, self.device, self._depth)
        if rule is None or node.target in COUNTING:
            raise Unsupported(f"in its graph: {name}, which has no mapping")
        try:
            require_kernel(name, [value.dtype for value in map(self.values.get, node.all_input_nodes)
                                  if isinstance(value, Value)], self.device.type)
            self.map(node, rule)
        except (Unsupported, NoKernel) as error:
            raise Unsupported(f"in its graph: {name} ({error})") from None

    def _visit_output(self, node):
        outputs = node.args[0] if isinstance(node.args[0], (list, tuple)) else node.args
        self._returned = _tensors([self.argument(output) for output in outputs])


def _values_in(gm, given):
    """{fx node: what PyTorch says of its value} where the graph is given that: its own notes may be of sizes that vary."""
    found = {}

    class Propagation(torch.fx.Interpreter):
        def run_node(self, node):
            found[node] = value = super().run_node(node)
            return value

    placeholders = gm.graph.find_nodes(op="placeholder")
    with fake_mode(runs_graphs=True):
        Propagation(gm).run(*map(_input_like, given, placeholders))
    return found


def _input_like(value, node):
    """As it lies in the trace, which may look at it otherwise than a row-major one can be looked at."""
    if not isinstance(value, Value):
        return value
    traced = node.meta.get("val")
    # Not asked of symbols, which would be numbers from then on.
    is_alike = is_tensor(traced) and all(type(size) is int for size in traced.shape) and tuple(traced.shape) == tuple(value.shape)
    lies = layout_of(traced) if is_alike else row_major(value.shape)
    return torch.empty_strided(value.shape, lies.strides, dtype=_DTYPES[value.dtype])
