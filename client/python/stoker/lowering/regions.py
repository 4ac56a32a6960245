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
from ..pytorch.operators import errors_of_unknown_sizes, fake_mode
from .counted import COUNTING
from .mapping import NUMBERS, Mapping, type_of

_MAX_CONSTANT = 4096  # Bytes of one in a graph.
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
    asked, stepped = region(condition, given), region(body, given)
    if asked.checks:
        raise Unsupported("in its condition: indices that have to be looked at")
    limits = stepped.carry_limits(len(carried))
    asked.stop_beyond(stepped.checks, len(carried))
    regions = f" {{condition={asked.text_of()}, body={stepped.text_of()}}}"
    made = g.nodes("while", _operands([*carried, *_nothing(g, limits), *stays]), regions, (*out, *limits))
    return _checked(g, made[:len(out)], made[len(out):], stepped.checks)


def _scan(region, g, out, body, carried, scanned, stays):
    if not scanned:
        raise Unsupported("nothing to scan")
    rows = [Value(None, x.dtype, x.shape[1:]) for x in _tensors(scanned)]
    stepped = region(body, _tensors(carried) + rows + stays)
    limits, count = stepped.carry_limits(len(carried)), len(carried)
    attributes = f" {{body={stepped.text_of()}, carried={count + len(limits)}, scanned={len(scanned)}}}"
    operands = _operands([*carried, *_nothing(g, limits), *scanned, *stays])
    made = g.nodes("scan", operands, attributes, (*out[:count], *limits, *out[count:]))
    after = count + len(limits)
    return _checked(g, (*made[:count], *made[after:]), made[count:after], stepped.checks)


def _cond(region, g, out, predicate, chosen, otherwise, operands):
    """Two loops of one trip at most: each branch runs where it is chosen, and only there."""
    if not isinstance(predicate, Value) or predicate.dtype != "bool" or any(x is None for x in out):
        raise Unsupported("a branch by a number, or of numbers")
    is_chosen = g.reshape(predicate, ())
    made = [g.constant(0, *each) for each in out]
    for branch, runs in ((chosen, is_chosen), (otherwise, g.unary("not", is_chosen))):
        made = _at_most_once(region(branch, list(operands)), g, runs, made, operands)
    return made


def _at_most_once(branch, g, runs, before, operands):
    """What the branch gives if it `runs`, else what is `before` it."""
    limits = branch.carry_limits(0)
    branch.carry_instead([runs, *before])
    carried = [runs, *before, *_nothing(g, limits)]
    given = _operands([*carried, *operands])
    asked = GraphText("region")
    goes_on, *_ = [asked.input(value.dtype, value.shape) for value in given]
    regions = f" {{condition={asked.text(range(len(given)), [], [goes_on]).strip()}, body={branch.text_of()}}}"
    made = g.nodes("while", given, regions, tuple(value.type for value in carried))[1:]
    return _checked(g, made[:len(before)], made[len(before):], branch.checks)


_LOOPS = {"while_loop": _while, "scan": _scan, "cond": _cond}


def _tensors(values):
    if not all(isinstance(value, Value) for value in values):
        raise Unsupported("a number that changes from trip to trip")
    return list(values)


def _nothing(g, limits):
    """Of indices that were not looked at yet."""
    return [g.constant(0, limit.dtype) for limit in limits]


def _checked(g, results, limits, checks):
    """What a loop gives, where the indices of all its trips are within limits: it carries the least and the largest."""
    for place, *condition in checks:
        both = [g.reshape(limit, (1,)) for limit in limits[2 * place:2 * place + 2]]
        g.checked(results[0], g.concatenate(both, 0), *condition)
    return results


def _operands(values):
    """A number that stays is one of the graph's own."""
    return tuple(value for value in values if isinstance(value, Value))


def _region(gm, given, device, depth):
    """The _Region of a graph that is given Values like these, and numbers."""
    if device.type != "cpu":
        raise Unsupported("loops run on CPUs alone")
    if depth == _MAX_DEPTH:
        raise Unsupported(f"graphs that nest deeper than {_MAX_DEPTH}")
    sizes = [value.shape if isinstance(value, Value) else (value,) for value in given]
    if any(isinstance(size, Dim) for shape in sizes for size in shape):
        raise Unsupported("a loop over sizes that vary")
    return _Region(gm, given, device, depth + 1)


class _Region(Mapping):
    """`checks`: IndexChecks of the indices that it reads at, each trip."""

    def __init__(self, gm, given, device, depth):
        super().__init__(GraphText("region"), device)
        self._gm = gm
        self._depth = depth
        self._known = _values_in(gm, given)
        self._given = iter(given)
        self._constants = {}  # Value -> the tensor.
        self.text.evaluate = self._constants.get
        for node in gm.graph.nodes:
            getattr(self, f"_visit_{node.op}")(node)
        self._order = list(range(len(self.text.inputs)))
        self.checks, self._limits = self.text.checks_of(self.text.live(self._returned)[1])

    def text_of(self):
        _, nodes = self.text.live(self._returned)
        return self.text.text(self._order, nodes, self._returned).strip()

    def carry_limits(self, carried):
        """Of all indices up to the trip: they come after what is `carried`, and go after it. Their Types."""
        for place, (limit, before) in enumerate(zip(self._limits, self._inputs_after(carried, self._limits))):
            kind = "maximum" if place % 2 else "minimum"
            self._returned.insert(carried + place, self.text.binary(kind, before, limit))
        return [limit.type for limit in self._limits]

    def carry_instead(self, before):
        """Of a branch, which is given no such values, and whose results come in their place, with a false one first."""
        self._inputs_after(0, before)
        count = len(before) - 1
        limits, results = self._returned[:len(self._limits)], self._returned[len(self._limits):]
        if [each.type for each in results] != [each.type for each in before[1:]] or len(results) != count:
            raise Unsupported("branches that give other types")
        self._returned = [self.text.constant(0, "bool"), *results, *limits]

    def stop_beyond(self, checks, carried):
        """Of a condition: goes on only while these hold of the limits, which come after what is `carried`."""
        count = 1 + max((check.place for check in checks), default=-1)
        limits = self._inputs_after(carried, [Value(None, "i64", ())] * (2 * count))
        if checks:
            self._returned = [self.text.binary("and", self._returned[0], self.text.within(checks, limits))]

    def _inputs_after(self, place, values):
        """Such inputs, as the next ones after so many."""
        first = len(self.text.inputs)
        made = [self.text.input(value.dtype, value.shape) for value in values]
        self._order[place:place] = range(first, first + len(made))
        return made

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
        """Another graph, or a constant, which is written out."""
        tensor = operator.attrgetter(node.target)(self._gm)
        if not isinstance(tensor, torch.Tensor):
            return
        if tensor.nbytes > _MAX_CONSTANT:
            raise Unsupported(f"in its graph: a constant of {tensor.nbytes} bytes")
        elements = bytes(tensor.reshape(-1).view(torch.uint8).tolist())
        self.values[node] = made = self.text.dense(elements, *type_of(tensor, self.device))
        self._constants[made] = tensor

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
            require_kernel(name, [value.dtype for value in (self.values.get(each) for each in node.all_input_nodes)
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
        try:
            Propagation(gm).run(*(_input_like(value, placeholder) for value, placeholder in zip(given, placeholders)))
        except errors_of_unknown_sizes():
            raise Unsupported("in its graph: a size, or a number, that only a run knows") from None
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
