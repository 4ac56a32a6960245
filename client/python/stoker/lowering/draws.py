"""Random numbers that do not depend on what a graph computes: drawn before its first segment.

An operator that draws runs in eager PyTorch, and where it is given what a segment makes, it cuts the graph there. But
dropout and rand_like take of a tensor no more than how it lies, which is known: what is handed to them is an empty one.
All draws keep their order, so that PyTorch's generator gives each the numbers that it would have without a compiler.
The same holds for what a checkpoint draws and keeps the generator's state of, to draw it again from that state.
"""

import operator
import weakref
from typing import Any, NamedTuple

import torch

from ..graph.layout import DTYPES, is_tensor, layout_of
from ..graph.program import Part
from ..graph.values import element_of
from ..pytorch.operators import CONVERT, OpOverload, named_argument
from .replacements import permuted, retyped

aten = torch.ops.aten

_DROPOUT = aten.native_dropout.default
# Of their first argument they take no elements: they fill a tensor like it.
_FILLS = frozenset((
    aten.bernoulli.p, aten.rand_like.default, aten.randn_like.default, aten.randint_like.default,
    aten.randint_like.low_dtype, aten.uniform.default, aten.normal_functional.default, aten.exponential.default,
    aten.cauchy.default, aten.log_normal.default, aten.geometric.default, aten.random.default, aten.random.to,
    getattr(aten.random, "from")))
# Where checkpoints put an operator and its arguments behind others: what comes before them.
_KEEPS_STATE = "run_and_save_rng_state"  # Gives (the generator's state, what the operator gives).
_BEHIND = {_KEEPS_STATE: 0, "run_with_rng_state": 1}

# Namespaces whose operators have a tag where they draw.
_TAGGED = frozenset((
    "aten", "prims", "prim", "quantized", "quantized_decomposed", "mkldnn", "torchvision", "stoker"))
_drawing = weakref.WeakKeyDictionary()  # Graph -> does an operator in it draw, as PyTorch says? Passes change no draw.


def is_random(target):
    """Does what a node calls take numbers from PyTorch's generator, as PyTorch says?"""
    return str(target) in _BEHIND or torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def may_draw(node):
    """May it? Of what runs a graph of its own nobody says that it does not; nor does PyTorch know of operators that are
    not its own. These keep their place among what draws, where a graph has anything that does."""
    target = node.target
    if isinstance(target, Part):
        return target.draws
    if not isinstance(target, OpOverload):
        return target is not operator.getitem
    return _draws(node) or (target.namespace not in _TAGGED and _has_draws(node.graph))


def _draws(node):
    """Attention that drops nothing draws nothing."""
    if not is_random(node.target):
        return False
    rate = named_argument(node, "dropout_p")
    return rate is None or rate != 0


def hands_on_state(node):
    """Attention that drops gives the generator's state to its own gradient, which may lie elsewhere than PyTorch's meta
    tensors say: on the CPU but while a CUDA graph is recorded."""
    return isinstance(node.target, OpOverload) and bool(named_argument(node, "dropout_p"))


def _has_draws(graph):
    if graph not in _drawing:
        _drawing[graph] = any(_draws(each) for each in graph.nodes)
    return _drawing[graph]


class _Draw(NamedTuple):
    """A node that calls an operator, maybe for a checkpoint."""

    node: Any
    place: int  # Of the operator's first argument among the node's.
    keeps_state: bool

    @property
    def operator(self):
        return self.node.args[self.place - 1] if self.place else self.node.target

    @property
    def arguments(self):
        return self.node.args[self.place:]

    @property
    def value(self):
        """What the operator gives; None where nobody says."""
        return self._item(1) if self.keeps_state else self.node.meta.get("val")

    @property
    def state(self):
        return self._item(0)

    def _item(self, place):
        """Partitions note what the items are, and not what is made of them."""
        return next((user.meta.get("val") for user in self.node.users if user.args[1:] == (place,)), None)

    def drops(self):
        return self.operator is _DROPOUT and self.arguments[1] not in (0, 1) and self.arguments[2] is not False

    def is_dropout(self):
        """One that draws."""
        if not self.drops() or self.value is None:
            return False
        mask = self.value[1]
        return layout_of(mask).order is not None and mask.numel() > 0 and all(
            user.target is operator.getitem for user in self.node.users)

    def is_fill(self):
        return self.operator in _FILLS and _is_dense(self.arguments[0].meta.get("val"))

    def of(self, form):
        """The same draw into a tensor like another one: the node's arguments."""
        return (*self.node.args[:self.place], form, *self.arguments[1:])


def _draws_of(graph):
    for node in list(graph.nodes):
        if node.op == "call_function":
            name = str(node.target)
            yield _Draw(node, _BEHIND[name] + 1 if name in _BEHIND else 0, name == _KEEPS_STATE)


def drawn_ahead(gm):
    """(the graph, fx nodes in it that PyTorch has to run): the graph itself where nothing can be drawn ahead, else one
    that computes the same."""
    if not any(draw.is_dropout() or draw.is_fill() for draw in _draws_of(gm.graph)):
        return gm, set()
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    forms = set()
    for draw in _draws_of(graph):
        if draw.is_dropout():
            forms.add(_take_apart(graph, draw))
        elif draw.is_fill():
            with graph.inserting_before(draw.node):
                form = _form(graph, draw.arguments[0].meta["val"])
            draw.node.args = draw.of(form)
            forms.add(form)
    return torch.fx.GraphModule(gm, graph), forms


def _is_dense(value):
    """Where elements overlap, or have gaps, what is like it does not lie like it."""
    if not isinstance(value, torch.Tensor):
        return is_tensor(value) and value.layout == torch.strided and layout_of(value).order is not None
    return value.layout == torch.strided and (
        value.is_contiguous() or torch.empty_like(value).stride() == value.stride())


def _form(graph, value):
    """A tensor that lies as `value` does, with no elements to speak of."""
    form = graph.call_function(
        aten.empty_strided.default, (list(value.shape), list(value.stride())),
        {"dtype": value.dtype, "device": value.device})
    form.meta["val"] = value
    return form


def _take_apart(graph, draw):
    """As PyTorch's own kernel does. Gives what stands for the mask's tensor."""
    node = draw.node

    def call(value, target, *arguments, **keywords):
        made = graph.call_function(target, arguments, keywords)
        made.meta["val"] = value
        return made

    def draw_by(value, operator_, *arguments):
        """(the generator's state where a checkpoint keeps it, what the operator gives)"""
        if not draw.place:
            return None, call(value, operator_, *arguments)
        drawn = call(value, node.target, *node.args[:draw.place - 1], operator_, *arguments)
        if not draw.keeps_state:
            return None, drawn
        drawn.meta["val"] = draw.state, value
        return call(draw.state, operator.getitem, drawn, 0), call(value, operator.getitem, drawn, 1)

    with graph.inserting_before(node):
        parts = _parts_on_cuda if draw.value[0].device.type == "cuda" else _parts_on_cpu
        form, state, scaled, drawn = parts(graph, draw, call, draw_by)
    _replace(graph, node, (state, (scaled, drawn)) if draw.keeps_state else (scaled, drawn))
    return form


def _parts_on_cpu(graph, draw, call, draw_by):
    """A mask that lies as x does, times the scale, times x."""
    x, rate, _ = draw.arguments
    result, mask = draw.value
    layout = layout_of(mask)
    kept = 1.0 - rate
    physical = permuted(mask, layout.order)
    form = _form(graph, physical)
    state, drawn = draw_by(physical, aten.bernoulli.p, form, kept)
    if list(layout.order) != sorted(layout.order):
        drawn = call(mask, aten.permute.default, drawn, layout.places)
    factor = call(result, CONVERT, drawn, dtype=result.dtype)
    factor = call(result, aten.mul.Tensor, factor, 1.0 / kept)
    return form, state, call(result, aten.mul.Tensor, x, factor), drawn


def _parts_on_cuda(graph, draw, call, draw_by):
    """There the operator draws otherwise than others do, by where elements lie: it is given a tensor that lies as x does,
    for the mask alone. Then x times the mask times the scale, in float32 at least."""
    x, rate, _ = draw.arguments
    result, mask = draw.value
    form = _form(graph, x.meta["val"])
    state, both = draw_by((result, mask), _DROPOUT, form, rate, True)
    drawn = call(mask, operator.getitem, both, 1)
    dtype = torch.float64 if result.dtype == torch.float64 else torch.float32
    wide = retyped(result, dtype)
    kept = element_of(1.0 - rate, DTYPES[dtype])
    scaled = call(wide, aten.mul.Tensor, call(wide, CONVERT, x, dtype=dtype), call(wide, CONVERT, drawn, dtype=dtype))
    scaled = call(wide, aten.mul.Tensor, scaled, element_of(1.0 / kept, DTYPES[dtype]))
    return form, state, scaled if dtype == result.dtype else call(result, CONVERT, scaled, dtype=result.dtype), drawn


def _replace(graph, node, values):
    """The items of a node, and theirs, by `values`."""
    for item in list(node.users):
        value = values[item.args[1]]
        if isinstance(value, tuple):
            _replace(graph, item, value)
        else:
            item.replace_all_uses_with(value)
            graph.erase_node(item)
    graph.erase_node(node)
