"""Convolutions on GPUs with what follows them as one call: batch norm by running statistics, bias, residual, ReLU.

Sums of products stay in f32 until all of it is done: the factor of a norm multiplies them, and is in no weight. So nothing
depends on what weights hold, and nothing is kept of them between calls."""

import operator
from typing import Any, NamedTuple

import torch

from ..graph.layout import layout_of
from ..pytorch.operators import BATCH_NORMS, CONVERT, named_argument
from ..runtime.convolutions import FUSED
from .convolutions import is_of_one_place
from .replacements import copy_of, last_of_channels, permuted

aten = torch.ops.aten

# The library's kernels for these multiply on tensor cores, eight elements of a row at a time.
_DTYPES = (torch.bfloat16, torch.float16)
_ALIGNED = 8
# Images of fewer channels get zeros beside them, as photographs do, and their weights.
_PADS_IMAGES = True
_LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}  # By how many dims there are.
_SCALE, _SHIFT = 2, 3  # Places among the arguments of FUSED.


class _Norm(NamedTuple):
    """What scales and shifts channels: fx nodes, or None for those that are not there."""

    epsilon: float
    variance: Any
    mean: Any
    weight: Any
    offset: Any
    bias: Any  # Of the convolution before it.

    @property
    def sources(self):
        return self[1:]


class _Chain(NamedTuple):
    """A convolution and what follows: each is all that reads the one before."""

    convolution: Any
    norm: Any  # fx nodes, or None.
    residual: Any  # What is added.
    has_relu: bool
    nodes: tuple  # All that go, in order.


def fused(gm):
    """The graph, or one that computes the same with such calls. Sizes that vary have none."""
    if not any(_is_fusible(node) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    norms = {}  # Call -> _Norm.
    for node in list(gm.graph.nodes):
        if _is_fusible(node) and _pays(chain := _chain_of(node)):
            norm = _norm_of(chain)
            call = _replace(gm.graph, chain)
            if norm is not None:
                norms[call] = norm
    for calls in _alike(norms):
        _scale(gm.graph, calls, [norms[call] for call in calls])
    gm.recompile()
    return gm


# ---- What is taken along ----------------------------------------------------------------------------


def _is_fusible(node):
    if node.target is not aten.convolution.default or not isinstance(node.meta["val"], torch.Tensor):
        return False
    image, weight, result = (each.meta["val"] for each in (*node.args[:2], node))
    _, _, _, _, _, _, transposed, _, groups = node.args
    return (
        result.dtype in _DTYPES and len(result.shape) in _LAYOUTS and not transposed and groups == 1
        and len(image.shape) == len(weight.shape) == len(result.shape) and 0 not in (*image.shape, *result.shape)
        and all(type(size) is int for value in (image, weight, result) for size in value.shape)
        and weight.shape[0] % _ALIGNED == 0 and _lies_channels_last(result)
        and (_gets_channels(weight) or (weight.shape[1] % _ALIGNED == 0 and _lies_channels_last(image))))


def _gets_channels(value):
    return _PADS_IMAGES and value.shape[1] < _ALIGNED


def _pays(chain):
    """Would it take a kernel of its own? Not where a kernel that reads the result does it along; and what follows a product
    of matrices, and is no norm, the library for those takes along."""
    is_read_from_memory = any(
        user.op == "output" or user.target in (aten.convolution.default, FUSED) for user in chain.nodes[-1].users)
    follows = chain.norm is not None or ((len(chain.nodes) > 1 or chain.convolution.args[2] is not None)
                                         and not is_of_one_place(chain.convolution))
    return follows and (chain.has_relu or is_read_from_memory)


def _lies_channels_last(value):
    """Also what could lie otherwise as well, where only one dim has more than one element."""
    return layout_of(permuted(value, last_of_channels(value))).order == tuple(range(len(value.shape)))


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
    if user is None or user.target not in BATCH_NORMS or named_argument(user, "training"):
        return None
    known = all(named_argument(user, name) is not None for name in ("running_mean", "running_var"))
    results = list(user.users)
    takes_one = len(results) == 1 and results[0].target is operator.getitem and results[0].args[1] == 0
    return user if named_argument(user, "input") is node and known and takes_one and _lies_alike(results[0], node) else None


def _norm_of(chain):
    if chain.norm is None:
        return None
    names = ("eps", "running_var", "running_mean", "weight", "bias")
    return _Norm(*(named_argument(chain.norm, name) for name in names), chain.convolution.args[2])


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
    """The call, without what a norm scales and shifts by."""
    last, (image, weight, bias, *window) = chain.nodes[-1], chain.convolution.args[:6]
    with graph.inserting_before(last):
        call = _call(graph, FUSED, (
            _padded(graph, image), _as_channels_last(graph, _padded(graph, weight)), None, None if chain.norm is not None else bias, chain.residual,
            chain.has_relu, *map(list, window)), last.meta["val"])
    last.replace_all_uses_with(call)
    for node in reversed(chain.nodes):
        graph.erase_node(node)
    return call


def _padded(graph, source):
    """With zeros for channels that are missing."""
    value = source.meta["val"]
    if not _gets_channels(value):
        return source
    padding = [0, 0] * (len(value.shape) - 2) + [0, _ALIGNED - value.shape[1]]
    shape = (value.shape[0], _ALIGNED, *value.shape[2:])
    return _call(graph, aten.constant_pad_nd.default, (source, padding, 0.0), _channels_last(value.new_empty(shape)))


def _as_channels_last(graph, weight):
    value = weight.meta["val"]
    if _lies_channels_last(value):
        return weight
    copied = _channels_last(value)
    return _call(graph, aten.clone.default, (weight,), copied, memory_format=_LAYOUTS[len(value.shape)])


def _channels_last(value):
    return torch.empty_like(value, memory_format=_LAYOUTS[len(value.shape)])


def _alike(norms):
    """Lists of calls whose norms are computed at once: what they read is there from the start, and of the same kind."""
    alike = {}
    for call, norm in norms.items():
        kinds = [None if source is None else source.meta["val"].dtype for source in norm.sources]
        is_held = all(source is None or source.op == "placeholder" for source in norm.sources)
        alike.setdefault((norm.epsilon, *kinds) if is_held else call, []).append(call)
    return list(alike.values())


def _scale(graph, calls, norms):
    """Gives the calls the factors and summands of their channels: parts of one tensor each, so that one kernel computes
    them all."""
    is_shared = len(calls) > 1
    first = next(node for node in graph.nodes if node.op != "placeholder") if is_shared else calls[0]
    with graph.inserting_before(first):
        joined = [_joined(graph, sources) for sources in zip(*(norm.sources for norm in norms))]
        wholes = _affine_of(graph, _Norm(norms[0].epsilon, *joined))
        begin = 0
        for call in calls:
            end = begin + call.meta["val"].shape[1]
            for place, whole in zip((_SCALE, _SHIFT), wholes):
                call.update_arg(place, whole if not is_shared else _call(
                    graph, aten.slice.Tensor, (whole, 0, begin, end), whole.meta["val"][begin:end]))
            begin = end


def _joined(graph, sources):
    if sources[0] is None or len(sources) == 1:
        return sources[0]
    values = [source.meta["val"] for source in sources]
    return _call(graph, aten.cat.default, (list(sources),), values[0].new_empty((sum(value.shape[0] for value in values),)))


def _affine_of(graph, norm):
    """(factor, summand) of each channel, in f32."""
    variance, mean, weight, offset, bias = (
        None if source is None else _wide(graph, source) for source in norm.sources)
    value = variance.meta["val"]
    scale = _call(graph, aten.add.Tensor, (variance, norm.epsilon), value)
    scale = _call(graph, aten.rsqrt.default, (scale,), value)
    if weight is not None:
        scale = _call(graph, aten.mul.Tensor, (scale, weight), value)
    if bias is not None:
        mean = _call(graph, aten.sub.Tensor, (mean, bias), value)
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
