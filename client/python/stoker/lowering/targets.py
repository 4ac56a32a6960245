"""What a kind of device runs, of what a graph can say: the one place that tells what PyTorch's own kernels do there."""

import dataclasses

import torch

from ..graph.devices import device_of
from ..graph.layout import row_major

aten = torch.ops.aten

# Operations that a target has no kernel for. An operator whose rule needs one is a call of PyTorch, whole: its libraries'
# kernels are why.
ABSENT = {
    "cpu": frozenset(),
    "cuda": frozenset(("attention", "convolution", "cumulative", "dynamic_update_slice", "scatter", "sort", "top_k")),
}
# Operators without a rule that PyTorch's libraries are there for: no fallbacks either.
OF_LIBRARIES = {
    "cpu": frozenset(),
    "cuda": frozenset(
        f"aten.{name}.default" for attention in ("flash", "efficient", "cudnn")
        for name in (f"_scaled_dot_product_{attention}_attention", f"_scaled_dot_product_{attention}_attention_backward")),
}


def held(gm, parameters, is_training):
    """Those of the parameters that are looked at as such. In training they change in every step: binding them, as is done
    on the CPU, would not pay."""
    return () if is_training and device_of(gm).type == "cpu" else parameters


def as_run(gm):
    """The graph, or one that computes the same, with operators taken apart of which kernels can do a part."""
    if "convolution" not in ABSENT[device_of(gm).type] or not any(map(_is_biased, gm.graph.nodes)):
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    for node in list(graph.nodes):
        if _is_biased(node):
            _add_bias_after(graph, node)
    return torch.fx.GraphModule(gm, graph)


def _is_biased(node):
    return node.target is aten.convolution.default and node.args[2] is not None


def _add_bias_after(graph, node):
    """As PyTorch does around its libraries: the sum is rounded, then the bias is added."""
    bias, result = node.args[2], node.meta["val"]
    places = [bias.meta["val"].shape[0], *[1] * (len(result.shape) - 2)]
    with graph.inserting_after(node):
        column = graph.call_function(aten.view.default, (bias, places))
    with graph.inserting_after(column):
        total = graph.call_function(aten.add.Tensor, (node, column))
    node.replace_all_uses_with(total, delete_user_cb=lambda user: user is not total)
    node.args = (*node.args[:2], None, *node.args[3:])
    column.meta["val"] = _viewed(bias.meta["val"], tuple(places))
    total.meta["val"] = result


def _viewed(value, shape):
    if isinstance(value, torch.Tensor):
        return value.view(shape)
    return dataclasses.replace(value, shape=shape, strides=row_major(shape).strides)
