"""From an ATen graph to a Program: segments that Stoker compiles, operators that PyTorch runs.

An operator without a rule is a call in the middle of a segment, which cuts nothing (hosting.py), unless it has to run
outside, or may as well. Every node has a level. Segment k holds the mapped nodes of level k; it runs after the eager operators
of level k, which need only segments before k. So a graph without eager operators is one segment, and
eager operators that do not depend on each other split it once. Reordering is sound because the graph is
functional; operators that draw random numbers keep their order.
"""

import operator
import types

import torch

from ..base.signals import let_through
from ..aten_ops import RULES, WORD_RULES, Unsupported, require_kernel
from ..graph.assumptions import NeedsNumber, Settled
from ..graph.devices import device_of
from ..graph.dims import Dim
from ..graph.host_call import NoHostCall
from ..graph.layout import DTYPES, WORDS, is_tensor, layout_of
from ..graph.program import EagerCall, Part, Program, Slot
from ..graph.text import NoKernel
from ..pytorch.operators import look_at_real_tensors
from . import counted, hosting, regions, result_layouts, targets
from .draws import drawn_ahead, is_random, may_draw
from .known import Known
from .mapping import NUMBERS, is_number
from .segment import Level
from .symbols import Typed, is_sized, of_unknown_size, without_sizes_of_a_run
from .updates import updates_in
from .views import owner_of, viewed, views_up_to

# A segment of these alone computes nothing: PyTorch makes views of them.
_MOVES = frozenset((
    "reshape", "transpose", "slice", "broadcast_in_dim", "constant", "iota", "extern_call"))

_ITEM = "aten._local_scalar_dense.default"  # A number that only a run knows.

# What PyTorch checks while a graph runs: for PyTorch to say, and no work that a kernel could take over.
_ASSERTIONS = frozenset((
    "aten._assert_async.msg", "aten._assert_async.default", "aten._assert_scalar.default", "aten._linalg_check_errors.default",
    "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"))


def lower(gm, parameters, draws_inside=True, refused=types.MappingProxyType({})):
    """`parameters`: positions of the inputs whose content rarely changes. All sizes of inputs are numbers; what has others
    runs in PyTorch. `draws_inside`: may segments draw random numbers? `refused`: {name of an fx node that is not mapped,
    whatever its rule: why}."""
    # AOTAutograd's fake mode is on around a compiler; masks are looked at for real.
    with torch.no_grad(), look_at_real_tensors():
        sized = without_sizes_of_a_run(gm)
        made, forced = drawn_ahead(targets.as_run(result_layouts.as_eager(counted.from_first(sized))))
        unsized = () if sized is gm else (node for node in made.graph.nodes if not is_sized(node))
        return _lowered(made, forced, set(parameters), draws_inside, refused, unsized=frozenset(unsized))


def need_numbers(gm):
    """Names of fx nodes of a graph with symbolic sizes that are lowered by numbers alone."""
    unknown = of_unknown_size(gm)
    sized_by_it = {
        node for node in gm.graph.nodes if node.op == "call_function" and not is_number(node)
        and (node in unknown or not unknown.isdisjoint(node.all_input_nodes))}
    names = targets.left_out(gm)
    left_out = {node for node in gm.graph.nodes if node.name in names}
    lie_otherwise = result_layouts.not_as_traced(gm, sized_by_it | left_out)
    return {node.name for node in (*sized_by_it, *lie_otherwise, *counted.of_computed(gm, left_out))}


def lower_for_all(gm, parameters, arguments, draws_inside=True, needing=None):
    """The same of a graph with symbolic sizes, for all sizes that are like those of the arguments: the program's
    conditions say which. Unsupported where there is no such program. `needing`: a set to which the names come of fx nodes that
    need numbers for sizes: such a program is not to be run. None: these sizes are numbers, by a condition."""
    settled = {}
    with torch.no_grad(), look_at_real_tensors():
        while True:
            typed = Typed(gm, arguments, settled)
            try:
                program = _lowered(
                    *drawn_ahead(targets.as_run(typed.gm)), set(parameters), draws_inside, needing=needing)
                return program._replace(symbols=typed.sources, conditions=typed.assumptions.conditions())
            except Settled as found:
                settled[found.number] = found.meaning


def _lowered(gm, forced, parameters, draws_inside, refused=types.MappingProxyType({}), needing=None, unsized=frozenset()):
    """`forced`: fx nodes that PyTorch has to run; `unsized`: those with sizes that only a run knows, which it runs, too."""
    unhosted = set()
    while True:
        lowering = _Lowering(gm, parameters, forced, unhosted, unsized, draws_inside, refused, needing)
        idle = lowering.idle_nodes()
        apart = hosting.apart(list(lowering.hosted), lowering.outside) | idle & lowering.hosted.keys()
        if not idle and not apart:
            return lowering.program()
        forced |= idle - apart
        unhosted |= apart


def _is_of_plan(node):
    """Does it call no operator of PyTorch, or one that computes with sizes?"""
    counts = is_number(node) and str(node.target) != _ITEM
    return counts or node.target is operator.getitem or isinstance(node.target, Part)


def _operator_of(node):
    """The operator that a call_function node runs; of one in a chain of effects, what is in the chain."""
    is_effect = str(node.target) == "with_effects"  # (token, operator, its arguments...)
    return str(node.args[1] if is_effect else node.target)


def _dtypes_given(node):
    """Of the tensors that it is given, each time that it is given one."""
    given = []
    torch.fx.node.map_arg((node.args, node.kwargs), given.append)
    values = [source.meta.get("val") for source in given]
    return [DTYPES.get(value.dtype, str(value.dtype)) for value in values if is_tensor(value)]


def _require_numbers(node):
    """Unsupported where a tensor that the node is given, or gives, is of a type that graphs have the bits of alone."""
    values = [source.meta.get("val") for source in node.all_input_nodes]
    made = node.meta.get("val")
    values.extend(made if isinstance(made, (list, tuple)) else [made])
    for value in values:
        if is_tensor(value) and value.dtype in WORDS:
            raise Unsupported(f"a tensor of {value.dtype}")


class _Lowering:
    def __init__(self, gm, parameters, forced, unhosted, unsized, draws_inside, refused, needing):
        self.gm = gm
        self.device = device_of(gm)
        self.parameters = parameters
        self.forced = forced
        self.unhosted = unhosted  # fx nodes that run outside although they could run inside.
        self.unsized = unsized
        self.draws_inside = draws_inside
        self.refused = refused
        self.needing = needing
        self.hosted = {}  # fx node -> None: calls of PyTorch inside segments, in order.
        self.levels = []
        self.level_of = {}  # fx node -> level.
        self.outside = set()  # fx nodes that no segment makes: inputs, constants, eager results.
        self.slots = {node: place for place, node in enumerate(
            node for node in gm.graph.nodes if node.op == "placeholder")}
        self.constants = {}
        self.graphs = {}  # fx node -> a graph that an operator runs.
        self.eager = {}  # level -> fx nodes.
        self.fallbacks = {}
        self.unmapped = set()  # Names of fx nodes.
        self.updates = updates_in(gm)
        self.updated = set(self.updates.values())
        self.closed = set()  # fx nodes that shapes alone decide.
        self.known = Known(lambda node: node in self.closed)
        # The first level in which the next draw may be: inside a segment, or beside.
        self.draws_from = {"inside": 0, "beside": 0}
        self.outputs = []
        self.views = []  # fx nodes of outputs that view inputs or other outputs: PyTorch makes them.
        for node in gm.graph.nodes:
            getattr(self, f"_visit_{node.op}")(node)

    # ---- Visiting nodes in order ----------------------------------------------------------------

    def _visit_placeholder(self, node):
        self.level_of[node] = 0
        self.outside.add(node)

    def _visit_get_attr(self, node):
        value = self.gm
        for name in node.target.split("."):
            value = getattr(value, name)
        if isinstance(value, torch.fx.GraphModule):
            self.graphs[node] = value
        else:
            self.constants[self.slot_of(node)] = value
        self.level_of[node] = 0
        self.outside.add(node)
        if isinstance(value, torch.Tensor):
            node.meta.setdefault("val", value)

    def _visit_call_function(self, node):
        value = node.meta.get("val")
        if isinstance(value, NUMBERS):
            self.level_of[node] = 0
            return
        if node.target is operator.getitem and node.args[0] not in self.outside:
            self._visit_item(node)
            return
        rule = RULES.get(str(node.target)) or regions.rule_of(node.target, self.device)
        if node in self.forced or counted.is_of_input(node):
            rule = None
        reason = "random numbers" if is_random(node.target) else "it has no mapping"
        if node.name in self.refused:
            rule, reason = None, self.refused[node.name]
        is_of_library = str(node.target) in targets.OF_LIBRARIES[self.device.type]
        if is_of_library:
            reason = None
        if node in self.unsized:
            rule, reason = None, "a size that only a run knows"
        if rule is not None:
            try:
                if str(node.target) not in WORD_RULES:
                    _require_numbers(node)
                require_kernel(str(node.target), _dtypes_given(node), self.device.type)
                self._map(node, rule)
                return
            except NeedsNumber:
                if self.needing is None:
                    raise
                self.needing.add(node.name)
                reason = None
            except Unsupported as unsupported:
                reason = None if is_of_library else str(unsupported)
            except NoKernel:
                reason = None
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                let_through(error)
                # A form of the operator that its rule was not written for.
                reason = f"{type(error).__name__}: {error}"
        name = _operator_of(node)
        is_fallback = not _is_of_plan(node) and name not in _ASSERTIONS
        if node not in self.forced and is_fallback:
            if reason is not None:
                self.fallbacks.setdefault(name, reason)
                self.unmapped.add(node.name)
            if node not in self.unhosted and node not in self.unsized and self._host(node):
                return
        self._run_eagerly(node)

    def _visit_output(self, node):
        tensors = dict.fromkeys(
            value for value in node.args[0] if isinstance(value, torch.fx.Node)
            and is_tensor(value.meta.get("val"))).keys()
        roots = tensors | self.outside
        hidden = self._hidden_owners(tensors, roots)
        for owner in hidden:
            self.need(owner)
        views = set()
        for value in node.args[0]:
            if value in tensors:
                chain = views_up_to(value, roots.union(hidden))
                views.update(chain)
                if not chain:
                    self.need(value)
                self.outputs.append(value)
            elif isinstance(value, torch.fx.Node):
                known = value.meta.get("val")
                # Of a number that only a run knows the trace has a symbol.
                is_left_by_a_step = value in self.outside and not isinstance(known, NUMBERS)
                self.outputs.append(value if is_left_by_a_step else known)
            else:
                self.outputs.append(value)
        # One may show an output that is itself a view, and comes later among the outputs.
        self.views = [each for each in self.gm.graph.nodes if each in views]

    def _hidden_owners(self, tensors, roots):
        """What is no output but has the memory of several, or of one whose elements overlap."""
        viewers = {}
        for value in tensors:
            if viewed(value) is not None and not views_up_to(value, roots):
                viewers.setdefault(owner_of(value), []).append(value)
        return [
            owner for owner, values in viewers.items()
            if len(values) > 1 or layout_of(values[0].meta["val"]).overlaps]

    def _visit_item(self, node):
        source, index = node.args
        level = self.level_of[node] = self.level_of[source]
        values = self.levels[level].values
        values[node] = self.levels[level].finished(node, values[source][index])
        if source in self.closed:
            self.closed.add(node)
        if source in self.hosted and may_draw(source):
            self.need(node)

    def _level_at(self, level):
        while level >= len(self.levels):
            self.levels.append(Level(self))
        return self.levels[level]

    def _host(self, node):
        """Makes it a call inside a segment; False where it cannot be one."""
        results = hosting.results_of(node, self.device)
        is_draw = may_draw(node)
        if results is None or (is_draw and not self.draws_inside) or not hosting.may_lie_otherwise(node):
            return False
        level = max((self.level_of[source] for source in node.all_input_nodes), default=0)
        if is_draw:
            level = max(level, self.draws_from["inside"])
        try:
            self._level_at(level).host(node, results)
        except (NoHostCall, NoKernel, Unsupported):
            return False
        self.level_of[node] = level
        self.hosted[node] = None
        if is_draw:
            self.draws_from = {"inside": level, "beside": level + 1}
            self.need(node)  # So that it runs, whatever becomes of its readers.
        return True

    def _map(self, node, rule):
        sources = node.all_input_nodes
        level = max((self.level_of[source] for source in sources), default=0)
        self._level_at(level).map(node, rule)
        self.level_of[node] = level
        if all(source in self.closed for source in sources):
            self.closed.add(node)

    def _run_eagerly(self, node):
        level = 0
        for source in node.all_input_nodes:
            if source in self.graphs:
                self.constants[self.slot_of(source)] = self.graphs[source]
            inside = source not in self.outside and not isinstance(
                source.meta.get("val"), NUMBERS)
            level = max(level, self.level_of[source] + inside)
            self.need(source)
        if may_draw(node):
            level = max(level, self.draws_from["beside"])
            self.draws_from = {"inside": level, "beside": level}
        self.level_of[node] = level
        self.outside.add(node)
        self.eager.setdefault(level, []).append(node)

    # ---- What the levels ask --------------------------------------------------------------------

    def slot_of(self, node):
        return self.slots.setdefault(node, len(self.slots))

    def is_parameter(self, node):
        """Is it the same tensor in most calls?"""
        return self.slots.get(node) in self.parameters or node.op == "get_attr"

    @property
    def reads_limits(self):
        """Does whoever runs a segment look at the limits of indices? On a GPU that would wait for it."""
        return self.device.type == "cpu"

    def is_bound(self, node):
        """Is it packed once, for many calls? Nobody watches whether memory of a GPU changes, and nothing is packed there."""
        return self.device.type == "cpu" and self.is_parameter(node)

    def need(self, node):
        """Somebody outside the node's segment reads it."""
        if node not in self.outside and is_tensor(node.meta.get("val")):
            self.levels[self.level_of[node]].exports[node] = None

    # ---- Results --------------------------------------------------------------------------------

    def idle_nodes(self):
        """fx nodes of segments that only move elements."""
        idle = set()
        for level in self.levels:
            _, nodes, returned, _ = level.live()
            if returned and all(node.op in _MOVES for node in nodes):
                idle |= {node for node in level.values if node not in self.outside}
        return idle - self.forced

    def program(self):
        steps = []
        for place in range(max([len(self.levels), *(level + 1 for level in self.eager)])):
            steps.extend(self._eager_call(each) for each in self.eager.get(place, ()))
            if place < len(self.levels):
                steps.extend(self.levels[place].steps(self.slot_of, self._updates_at(place)))
        steps.extend(
            self._eager_call(node) for node in self.views if node not in self.outside)
        outputs = [
            Slot(self.slot_of(value)) if isinstance(value, torch.fx.Node) else value
            for value in self.outputs]
        return Program(
            len(self.slots), self.constants, steps, outputs, self.fallbacks, device=self.device.type,
            unmapped=frozenset(self.unmapped))

    def _updates_at(self, place):
        """What segment `place` may make in the memory of inputs: nothing that fails comes after it, nor anything that reads
        what these held, and what runs outside may have given it a part of these."""
        if place + 1 < len(self.levels) or any(level > place for level in self.eager):
            return {}
        viewed = {source for view in self.views for source in view.all_input_nodes}
        shown = {source for nodes in self.eager.values() for node in nodes for source in node.all_input_nodes}
        return {
            node: source for node, source in self.updates.items()
            if not viewed & {node, source} and source not in shown and not self.is_parameter(source)}

    def _eager_call(self, node):
        arguments, keywords = torch.fx.node.map_arg(
            (node.args, dict(node.kwargs)), self._eager_argument)
        return EagerCall(
            node.target, arguments, keywords, self.slot_of(node), _result_of(node.meta.get("val")))

    def _eager_argument(self, node):
        value = node.meta.get("val")
        return value if isinstance(value, NUMBERS) else Slot(self.slot_of(node))


def _result_of(value):
    """What an operator is to return, of its meta value: EagerCall.result."""
    if is_tensor(value) and all(isinstance(size, (int, Dim)) for size in value.shape):
        return value.dtype, tuple(value.shape)
    return None
