"""How results lie in eager, where a trace says otherwise: operators follow the dims of what they are given, and not all
traces do as their kernels; none does where there are no elements."""

import torch

from ..graph.devices import device_of
from ..graph.layout import is_row_major, is_tensor, row_major
from ..pytorch.operators import INDEXING, OpOverload, fake_mode, look_at_real_tensors, runs_graphs
from . import index_layouts
from .draws import may_draw
from .replacements import copy_of
from .symbols import has_sizes
from .views import viewed

# Operators whose traces are known to say otherwise: their kernels are asked, with tensors of ones that lie the same.
_ASKED = frozenset(f"aten.{name}" for name in """
    _batch_norm_with_update_functional.default _native_batch_norm_legit.default _native_batch_norm_legit.no_stats
    _native_batch_norm_legit_functional.default _native_batch_norm_legit_no_training.default native_batch_norm.default
    binary_cross_entropy.default channel_shuffle.default copysign.Tensor div.Tensor_mode floor_divide.default
    glu_backward.default heaviside.default ldexp.Tensor log_sigmoid_forward.default logaddexp.default logical_and.default
    logical_or.default logical_xor.default native_dropout_backward.default reflection_pad2d_backward.default
    reflection_pad3d.default reflection_pad3d_backward.default replication_pad2d_backward.default replication_pad3d.default
    replication_pad3d_backward.default special_xlog1py.default xlogy.Tensor""".split())

# Those of which that is so where images lie channels last.
_ASKED_OF_IMAGES = frozenset(("aten.roll.default",))

# Numbers that only a run knows, as a trace has them.
_OF_A_RUN = (torch.SymInt, torch.SymFloat, torch.SymBool)


def as_eager(gm):
    """The graph, or a copy of it whose values lie as in eager. All sizes are numbers."""
    device = device_of(gm)
    if not any(_lies_otherwise(node, device) for node in gm.graph.nodes):
        return gm
    copied = copy_of(gm)
    with fake_mode(runs_graphs(copied)):
        _Propagation(copied).run(*[_input_again(node.meta["val"]) for node in copied.graph.find_nodes(op="placeholder")])
    return copied


def not_as_traced(gm, unsized):
    """What as_eager() looks at: the fx nodes whose results lie otherwise, and what follows from these. None of `unsized`,
    which have sizes that nobody can ask for."""
    device = device_of(gm)
    found = {}
    for node in gm.graph.nodes:
        if node not in unsized and node.op == "call_function" and (
                any(source in found for source in node.all_input_nodes) or _lies_otherwise(node, device)):
            found[node] = None
    return list(found)


def _lies_otherwise(node, device):
    if not has_sizes(node):
        return False
    if node.target in INDEXING:
        return index_layouts.lies_otherwise(node)
    if device.type != "cpu":  # Nobody waits for a GPU to say it.
        return False
    given = [source.meta["val"] for source in node.all_input_nodes if is_tensor(source.meta.get("val"))]
    name = str(node.target)
    return _is_nothing_otherwise(node) or name in _ASKED and not all(is_row_major(value) for value in given) or (
        name in _ASKED_OF_IMAGES and any(_has_channels_last(value) for value in given))


def _has_channels_last(value):
    return value.dim() >= 4 and type(value.stride(1)) is int and value.stride(1) == 1 and not is_row_major(value)


def _is_nothing_otherwise(node):
    """Has what it computes no elements, given what is not plainly row-major? No trace follows that as kernels do."""
    value = node.meta.get("val")
    if not isinstance(node.target, OpOverload) or not isinstance(value, torch.Tensor) or viewed(node) is not None:
        return False
    return any(type(size) is int and size == 0 for size in value.shape) and not may_draw(node) and any(
        not _is_plainly_row_major(source.meta["val"]) for source in node.all_input_nodes
        if is_tensor(source.meta.get("val")))


def _is_plainly_row_major(value):
    """By its strides, numbers, whatever it has of elements, no two of which are equal: kernels order such dims by size."""
    strides = value.stride()
    return all(type(size) is int for size in (*value.shape, *strides)) and (
        row_major(value.shape).strides == tuple(strides) and len(set(strides)) == len(strides))


class _Propagation(torch.fx.Interpreter):
    """Notes the value of every node."""

    def run_node(self, node):
        if node.op == "call_function" and isinstance(node.meta.get("val"), _OF_A_RUN):
            return node.meta["val"]
        if not has_sizes(node):
            return _again(node.meta.get("val"))
        value = super().run_node(node)
        if node.target in INDEXING:
            x, indices = self.map_nodes_to_values(node.args, node)[:2]
            value = _made_again(value, index_layouts.strides_of(value.shape, x, list(indices)))
        elif str(node.target) in _ASKED | _ASKED_OF_IMAGES or _is_nothing_otherwise(node):
            value = self._asked(node, value)
        node.meta["val"] = value
        return value

    def _asked(self, node, value):
        arguments, keywords = self.fetch_args_kwargs_from_env(node)
        with look_at_real_tensors():
            arguments, keywords = torch.fx.node.map_aggregate((arguments, keywords), _ones_like)
            made = node.target(*arguments, **keywords)
        if isinstance(made, torch.Tensor):
            return _made_again(value, made.stride())
        return tuple(_made_again(*each) for each in zip(value, (x.stride() for x in made)))


def _ones_like(value):
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cpu").fill_(1)


def _input_again(value):
    """With the memory around it."""
    if not isinstance(value, torch.Tensor):
        return value
    memory = torch.empty(
        value.untyped_storage().nbytes() // value.element_size(), dtype=value.dtype, device=value.device)
    return memory.as_strided(value.shape, value.stride(), value.storage_offset())


def _again(value):
    """What is not computed here, in the mode that is on."""
    if isinstance(value, (list, tuple)):
        return type(value)(_again(each) for each in value)
    return _made_again(value, value.stride()) if isinstance(value, torch.Tensor) else value


def _made_again(value, strides):
    """In the mode that is on."""
    return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)
