"""Convolutions on GPUs with what follows them as one call: batch norm by running statistics, bias, residual, ReLU.

Sums of products stay in f32 until all of it is done: the scale of a norm multiplies them, and is in no weight. So nothing
depends on what weights hold, and nothing is kept of them between calls."""

import operator
from typing import Any, NamedTuple

import torch

from ..graph.layout import layout_of
from ..pytorch.operators import BATCH_NORMS, CONVERT, named_argument
from ..runtime.convolutions import FUSED
from .convolutions import is_of_one_place
from .replacements import copy_of, last_of_channels

aten = torch.ops.aten

# The library's kernels for these multiply on tensor cores, eight elements of a row at a time.
_DTYPES = (torch.bfloat16, torch.float16)
_ALIGNED = 8


class _Chain(NamedTuple):
    """A convolution and what follows: each is all that reads the one before."""

    convolution: Any
    norm: Any  # fx nodes, or None.
    residual: Any  # What is added.
    relu: Any  # Is there one?
    nodes: tuple  # All that go, in order.


def fused(gm):
    """The graph, or one that computes the same with such calls. Sizes that vary have none."""
    if not any(_is_fusible(node) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    for node in list(gm.graph.nodes):
        if _is_fusible(node):
            chain = _chain_of(node)
            if _pays(chain):
                _replace(gm.graph, chain)
    gm.recompile()
    return gm


def _is_fusible(node):
    if node.target is not aten.convolution.default:
        return False
    image, weight = (source.meta["val"] for source in node.args[:2])
    result = node.meta["val"]
    _, _, _, _, _, _, transposed, _, groups = node.args
    return (
        isinstance(result, torch.Tensor) and result.dtype in _DTYPES and len(result.shape) in (4, 5) and not transposed
        and groups == 1 and len(image.shape) == len(weight.shape) == len(result.shape) and 0 not in (*image.shape, *result.shape)
        and all(size % _ALIGNED == 0 for size in weight.shape[:2]) and all(map(_lies_channels_last, (image, result)))
        and all(type(size) is int for size in (*image.shape, *weight.shape)))


def _pays(chain):
    """Would it take a kernel of its own? Not where a kernel that reads the result does it along; and what follows a product
    of matrices, and is no norm, the library for those takes along."""
    is_read_from_memory = any(
        user.op == "output" or user.target in (aten.convolution.default, FUSED) for user in chain.nodes[-1].users)
    follows = chain.norm is not None or ((len(chain.nodes) > 1 or chain.convolution.args[2] is not None)
                                         and not is_of_one_place(chain.convolution))
    return follows and (chain.relu or is_read_from_memory)


def _lies_channels_last(value):
    """Also what could lie otherwise as well, where only one dim has more than one element."""
    return layout_of(value.permute(last_of_channels(value))).order == tuple(range(len(value.shape)))


def _chain_of(node):
    nodes, norm, residual = [node], _norm_after(node), None
    if norm is not None:
        nodes += [norm, *norm.users]
    user = _user_of(nodes[-1])
    if user is not None and user.target is aten.add.Tensor:
        residual = _added(user, nodes[-1])
        nodes += [user] if residual is not None else []
    user = _user_of(nodes[-1])
    has_relu = user is not None and user.target is aten.relu.default
    return _Chain(node, norm, residual, has_relu, (*nodes, *([user] if has_relu else [])))


def _user_of(node):
    """All that reads it; None where that is several, or an output."""
    user = next(iter(node.users)) if len(node.users) == 1 else None
    return user if user is not None and user.op == "call_function" else None


def _norm_after(node):
    user = _user_of(node)
    if user is None or user.target not in BATCH_NORMS or user.args[0] is not node or named_argument(user, "training"):
        return None
    values = [named_argument(user, name) for name in ("weight", "bias", "running_mean", "running_var")]
    known = all(value is not None for value in values[2:]) and node not in values
    results = list(user.users)
    takes_one = len(results) == 1 and results[0].target is operator.getitem and results[0].args[1] == 0
    return user if known and takes_one and _lies_alike(results[0], node) else None


def _lies_alike(one, other):
    one, other = one.meta["val"], other.meta["val"]
    return isinstance(one, torch.Tensor) and (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())


def _added(node, one):
    """What an addition adds to `one`, if it is another image that lies alike; None otherwise."""
    if len(node.args) != 2 or node.kwargs.get("alpha", 1) != 1 or not _lies_alike(node, one):
        return None
    other = node.args[1] if node.args[0] is one else node.args[0]
    is_image = isinstance(other, torch.fx.Node) and other is not one and _lies_alike(other, one)
    return other if is_image else None


# ---- What takes its place ---------------------------------------------------------------------------


def _replace(graph, chain):
    last, convolution = chain.nodes[-1], chain.convolution
    image, weight, bias, stride, padding, dilation = convolution.args[:6]
    with graph.inserting_before(last):
        scale, shift = (None, bias) if chain.norm is None else _affine_of(graph, chain.norm, bias)
        made = graph.call_function(FUSED, (
            image, _as_channels_last(graph, weight), scale, shift, chain.residual, chain.relu, list(stride), list(padding),
            list(dilation)))
    made.meta["val"] = last.meta["val"]
    last.replace_all_uses_with(made)
    for node in reversed(chain.nodes):
        graph.erase_node(node)


def _as_channels_last(graph, weight):
    value = weight.meta["val"]
    if _lies_channels_last(value):
        return weight
    layout = torch.channels_last if value.dim() == 4 else torch.channels_last_3d
    return _call(graph, aten.clone.default, (weight,), value.new_empty(
        value.shape, dtype=value.dtype).contiguous(memory_format=layout), memory_format=layout)


def _affine_of(graph, norm, bias):
    """(factor, summand) of each channel, in f32, that a norm is."""
    weight, offset, mean, variance = (
        None if source is None else _wide(graph, source)
        for source in (named_argument(norm, name) for name in ("weight", "bias", "running_mean", "running_var")))
    value = variance.meta["val"]
    scale = _call(graph, aten.rsqrt.default, (
        _call(graph, aten.add.Tensor, (variance, named_argument(norm, "eps")), value),), value)
    if weight is not None:
        scale = _call(graph, aten.mul.Tensor, (scale, weight), value)
    if bias is not None:
        mean = _call(graph, aten.sub.Tensor, (mean, _wide(graph, bias)), value)
    shift = _call(graph, aten.neg.default, (_call(graph, aten.mul.Tensor, (mean, scale), value),), value)
    return scale, shift if offset is None else _call(graph, aten.add.Tensor, (shift, offset), value)


def _wide(graph, source):
    value = source.meta["val"]
    if value.dtype == torch.float32:
        return source
    return _call(graph, CONVERT, (source,), value.new_empty(value.shape, dtype=torch.float32), dtype=torch.float32)


def _call(graph, target, arguments, value, **keywords):
    made = graph.call_function(target, arguments, keywords)
    made.meta["val"] = value
    return made
