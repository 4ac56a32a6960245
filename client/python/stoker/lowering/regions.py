"""Operators that run graphs of their own, again and again: their graphs become regions of a node.

All that a graph does must have a rule: PyTorch is not called within.
"""

import operator

import torch

from ..aten_ops import RULES, Unsupported, require_kernel
from ..graph.dims import Dim
from ..graph.layout import DTYPES
from ..graph.text import GraphText, NoKernel
from ..graph.values import Value
from ..pytorch.operators import fake_mode
from .mapping import NUMBERS, Mapping

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def rule_of(target, device):
    """As of RULES, for operators with graphs; None for others."""
    rule = _LOOPS.get(str(target))
    if rule is None:
        return None
    return lambda g, out, *args, **kwargs: rule(device, g, out, *args, **kwargs)


def _while(device, g, out, condition, body, carried, stays):
    given = _tensors(carried) + stays
    regions = f" {{condition={_region(condition, given, device)}, body={_region(body, given, device)}}}"
    return g.nodes("while", _operands(given), regions, out)


def _scan(device, g, out, body, carried, scanned, stays):
    if not scanned:
        raise Unsupported("nothing to scan")
    rows = [Value(None, x.dtype, x.shape[1:]) for x in _tensors(scanned)]
    region = _region(body, _tensors(carried) + rows + stays, device)
    attributes = f" {{body={region}, carried={len(carried)}, scanned={len(scanned)}}}"
    return g.nodes("scan", _operands([*carried, *scanned, *stays]), attributes, out)


_LOOPS = {"while_loop": _while, "scan": _scan}


def _tensors(values):
    if not all(isinstance(value, Value) for value in values):
        raise Unsupported("a number that changes from trip to trip")
    return list(values)


def _operands(values):
    """A number that stays is one of the graph's own."""
    return tuple(value for value in values if isinstance(value, Value))


def _region(gm, given, device):
    """The text of a graph that is given Values like these, and numbers."""
    if device.type != "cpu":
        raise Unsupported("loops run on CPUs alone")
    sizes = [value.shape if isinstance(value, Value) else (value,) for value in given]
    if any(isinstance(size, Dim) for shape in sizes for size in shape):
        raise Unsupported("a loop over sizes that vary")
    return _Region(gm, given, device).text_of()


class _Region(Mapping):
    def __init__(self, gm, given, device):
        super().__init__(GraphText("region"), device)
        self._gm = gm
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
        rule = RULES.get(name) or rule_of(node.target, self.device)
        if rule is None:
            raise Unsupported(f"in its graph: {name}, which has no mapping")
        try:
            require_kernel(name, [value.dtype for value in map(self.values.get, node.all_input_nodes)
                                  if isinstance(value, Value)])
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

    mode = fake_mode(runs_graphs=True)
    with mode:
        inputs = [torch.empty(value.shape, dtype=_DTYPES[value.dtype]) if isinstance(value, Value) else value
                  for value in given]
        Propagation(gm).run(*inputs)
    return found
