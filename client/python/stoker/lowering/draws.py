"""Random numbers that do not depend on what a graph computes: drawn before its first segment.

An operator that draws runs in eager PyTorch, and where it is given what a segment makes, it cuts the graph there. But
dropout and rand_like take of a tensor no more than how it lies, which is known: what is handed to them is an empty one.
All draws keep their order, so that PyTorch's generator gives each the numbers that it would have without a compiler.
"""

import operator

import torch

from ..graph.layout import layout_of
from ..pytorch.operators import CONVERT

aten = torch.ops.aten

_DROPOUT = aten.native_dropout.default
# Of their first argument they take no elements: they fill a tensor like it.
_FILLS = frozenset((
    aten.bernoulli.p, aten.rand_like.default, aten.randn_like.default, aten.randint_like.default,
    aten.randint_like.low_dtype, aten.uniform.default, aten.normal_functional.default, aten.exponential.default,
    aten.cauchy.default, aten.log_normal.default, aten.geometric.default, aten.random.default, aten.random.to,
    getattr(aten.random, "from")))


def drawn_ahead(gm):
    """(the graph, fx nodes in it that PyTorch has to run): the graph itself where nothing can be drawn ahead, else one
    that computes the same. All sizes are numbers."""
    if not any(_is_dropout(node) or _is_fill(node) for node in gm.graph.nodes):
        return gm, set()
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    forms = set()
    for node in list(graph.nodes):
        if _is_dropout(node):
            forms.add(_take_apart(graph, node))
        elif _is_fill(node):
            with graph.inserting_before(node):
                form = _form(graph, node.args[0].meta["val"])
            node.args = (form, *node.args[1:])
            forms.add(form)
    return torch.fx.GraphModule(gm, graph), forms


def could_be_drawn_ahead(gm):
    """Is there anything that drawn_ahead() looks at?"""
    return any(_drops(node) or node.target in _FILLS for node in gm.graph.nodes)


def _drops(node):
    return node.target is _DROPOUT and node.args[1] != 0 and node.args[2] is not False


def _is_dropout(node):
    """One that draws."""
    if not _drops(node):
        return False
    mask = node.meta["val"][1]
    return mask.numel() > 0 and layout_of(mask).order is not None and all(
        user.target is operator.getitem for user in node.users)


def _is_fill(node):
    return node.target in _FILLS and _is_dense(node.args[0].meta.get("val"))


def _is_dense(value):
    """Where elements overlap, or have gaps, what is like it does not lie like it."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and (
        value.is_contiguous() or torch.empty_like(value).stride() == value.stride())


def _form(graph, value):
    """A tensor that lies as `value` does, with no elements to speak of."""
    form = graph.call_function(
        aten.empty_strided.default, (list(value.shape), list(value.stride())),
        {"dtype": value.dtype, "device": value.device})
    form.meta["val"] = value
    return form


def _take_apart(graph, node):
    """As PyTorch's own kernel does: a mask that lies as x does, times the scale, times x. Gives what stands for the
    mask's tensor."""
    x, rate, _ = node.args
    result, mask = node.meta["val"]
    layout = layout_of(mask)
    kept = 1.0 - rate

    def call(value, target, *arguments, **keywords):
        made = graph.call_function(target, arguments, keywords)
        made.meta["val"] = value
        return made

    with graph.inserting_before(node):
        physical = mask.permute(layout.order)
        form = _form(graph, physical)
        drawn = call(physical, aten.bernoulli.p, form, kept)
        if list(layout.order) != sorted(layout.order):
            drawn = call(mask, aten.permute.default, drawn, layout.places)
        factor = call(result, CONVERT, drawn, dtype=result.dtype)
        factor = call(result, aten.mul.Tensor, factor, 1.0 / kept if kept else 0.0)
        scaled = call(result, aten.mul.Tensor, x, factor)
    for item in list(node.users):
        item.replace_all_uses_with((scaled, drawn)[item.args[1]])
        graph.erase_node(item)
    graph.erase_node(node)
    return form
