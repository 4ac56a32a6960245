"""What a kind of device runs, of what a graph can say: the one place that tells what PyTorch's own kernels do there."""

import dataclasses

import torch

from ..aten_ops import attention
from ..graph.devices import device_of
from ..graph.layout import row_major
from ..pytorch.operators import named_argument, set_argument
from . import known

aten = torch.ops.aten
_MASK = "attn_bias"

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
    """The graph, or one that computes the same, with operators taken apart of which kernels can do a part, and given no more
    than they need."""
    absent = ABSENT[device_of(gm).type]
    biased = "convolution" in absent and any(map(_is_biased, gm.graph.nodes))
    masked = "attention" in absent and any(map(_is_masked, gm.graph.nodes))
    if not biased and not masked:
        return gm
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    if biased:
        for node in list(filter(_is_biased, graph.nodes)):
            _add_bias_after(graph, node)
    if masked:
        _drop_known_masks(graph)
    return torch.fx.GraphModule(gm, graph)


def _is_masked(node):
    """Attention of a library's, with a mask. Its gradient is given the mask that the forward was."""
    name = str(node.target)
    is_attention = name in OF_LIBRARIES["cuda"] and not name.endswith("_backward.default")
    return is_attention and isinstance(named_argument(node, _MASK), torch.fx.Node)


def _drop_known_masks(graph):
    """Masks that shapes alone decide: one that keeps everything is none, and a lower triangle is what the libraries call
    causal. What has made them goes with them."""
    closed = known.of_shapes_alone(graph)
    masks = known.Known(closed.__contains__)
    for node in list(filter(_is_masked, graph.nodes)):
        mask = _unexpanded(named_argument(node, _MASK))
        queries, keys = (named_argument(node, name).meta["val"].shape[-2] for name in ("query", "key"))
        pattern = attention.pattern_of(masks.tensor(mask), queries, keys) if mask in closed else None
        if pattern == "full" or (pattern == "causal" and queries == keys):
            set_argument(node, _MASK, None)
            set_argument(node, "is_causal", pattern == "causal" or named_argument(node, "is_causal"))
    graph.eliminate_dead_code()


def _unexpanded(node):
    """Before it was seen for each batch and head: it holds the same elements."""
    while node.target is aten.expand.default:
        source = node.args[0].meta["val"]
        if tuple(source.shape[-2:]) != tuple(node.meta["val"].shape[-2:]):
            break
        node = node.args[0]
    return node


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
