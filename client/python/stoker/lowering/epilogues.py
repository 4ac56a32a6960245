"""Convolutions on GPUs with what follows them as one call: a batch norm by running statistics, or a bias, then an image that
is added, then a ReLU.

The factor of a norm goes into the weight, by a kernel in every call: nothing is kept of what weights hold."""

import operator
from typing import Any, NamedTuple

import torch

from ..graph.dims import Dim, same
from ..graph.layout import is_tensor, layout_of
from ..pytorch.operators import BATCH_NORMS, CONVERT, named_argument
from ..runtime.convolutions.fused import FUSED
from .convolutions import is_of_one_place
from .replacements import call, copy_of, last_of_channels, lying, permuted, retyped, viewed

aten = torch.ops.aten

# The library's kernels for these multiply on tensor cores, eight elements of a row at a time.
_DTYPES = (torch.bfloat16, torch.float16)
_ALIGNED = 8
# A weight times a factor is no number of float16 where either is large or small.
_DTYPES_OF_NORMS = (torch.bfloat16,)
_LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}  # By how many dims there are.


class _Link(NamedTuple):
    """A convolution and the norm that alone reads it: fx nodes."""

    convolution: Any
    norm: Any  # None: there is none.
    nodes: tuple  # All of it, in order.


class _Chain(NamedTuple):
    """What one call computes: each is all that reads the one before."""

    link: _Link
    branch: Any  # The _Link that gives what is added, or None.
    sum: Any  # What adds it, or another image, or None.
    nodes: tuple  # All that go but for the branch, in order.

    @property
    def links(self):
        return [self.link] + ([] if self.branch is None else [self.branch])


def fused(gm):
    """The graph, or one that computes the same with such calls, for batches of any size, of images of any size."""
    if not any(_is_fusible(node) for node in gm.graph.nodes):
        return gm
    gm = copy_of(gm)
    graph, chains, taken = gm.graph, [], set()
    for node in graph.nodes:
        chain = _chain_of(node) if node not in taken and _is_fusible(node) else None
        if chain is not None and taken.isdisjoint(chain.nodes):  # Of two that are added the first takes the sum.
            chains.append(chain)
            taken.update(chain.nodes, *(link.nodes for link in chain.links))
    factors = _Factors(graph, chains)
    for chain in chains:
        _replace(graph, chain, factors)
    gm.recompile()
    return gm


# ---- What is taken along ----------------------------------------------------------------------------


def _is_fusible(node):
    if not _is_plain(node):
        return False
    image, weight, result = (each.meta["val"] for each in (*node.args[:2], node))
    return (
        node.args[8] == 1 and all(size % _ALIGNED == 0 for size in weight.shape[:2])
        and _lies_channels_last(result) and _lies_channels_last(image))


def _is_plain(node):
    """Is it a convolution of a batch of images, with channels of known number, whose window says how it moves in each dim?"""
    if node.target is not aten.convolution.default or not is_tensor(node.meta["val"]):
        return False
    image, weight, result = (each.meta["val"] for each in (*node.args[:2], node))
    return (
        result.dtype in _DTYPES and len(result.shape) in _LAYOUTS and not node.args[6]
        and all(len(sizes) == len(result.shape) - 2 for sizes in node.args[3:6])
        and len(image.shape) == len(weight.shape) == len(result.shape)
        and all(_is_known(size) for size in (image.shape[1], *weight.shape, result.shape[1]))
        and all(isinstance(size, Dim) or _is_known(size) for size in (*image.shape, *result.shape)))


def _is_known(size):
    return type(size) is int and size > 0


def _lies_channels_last(value):
    """Also what could lie otherwise as well, where only one dim has more than one element."""
    return layout_of(permuted(value, last_of_channels(value))).order == tuple(range(len(value.shape)))


def _chain_of(node):
    """None where a call would not pay, or the library has no kernel: what follows a product of matrices, and is no norm, the
    library for those takes along."""
    link, branch, addition = _link_of(node), None, None
    if link.norm is None and (node.args[2] is None or is_of_one_place(node)):
        return None
    nodes = list(link.nodes)
    user = _user_of(nodes[-1])
    if user is not None and user.target is aten.add.Tensor:
        addition, residual = user, _added(user, nodes[-1])
        if residual is None:
            return None
        branch = _branch_of(residual) if link.norm is not None else None
        nodes.append(addition)
        user = _user_of(addition)
    if user is None or user.target is not aten.relu.default:
        return None
    return _Chain(link, branch, addition, (*nodes, user))


def _link_of(node):
    norm = _norm_after(node)
    return _Link(node, norm, (node,) if norm is None else (node, norm, *norm.users))


def _branch_of(result):
    """The convolution and its norm that give it, if nobody else reads it."""
    norm = result.args[0] if result.target is operator.getitem else None
    if norm is None or norm.target not in BATCH_NORMS or _user_of(result) is None:
        return None
    convolution = named_argument(norm, "input")
    link = _link_of(convolution) if isinstance(convolution, torch.fx.Node) and _is_plain(convolution) else None
    return link if link is not None and link.norm is norm else None


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
    is_norm = known and takes_one and node.meta["val"].dtype in _DTYPES_OF_NORMS and named_argument(user, "input") is node
    return user if is_norm and _lies_alike(results[0], node) else None


def _lies_alike(one, other):
    one, other = one.meta["val"], other.meta["val"]
    return (is_tensor(one) and is_tensor(other) and one.dtype == other.dtype and same(one.shape, other.shape)
            and same(one.stride(), other.stride()))


def _added(node, one):
    """What an addition adds to `one`, if it is another image that lies alike; None otherwise."""
    if len(node.args) != 2 or node.kwargs.get("alpha", 1) != 1 or not _lies_alike(node, one):
        return None
    other = node.args[1] if node.args[0] is one else node.args[0]
    is_image = isinstance(other, torch.fx.Node) and other is not one and _lies_alike(other, one)
    return other if is_image else None


# ---- What takes its place ---------------------------------------------------------------------------


def _replace(graph, chain, factors):
    last, (image, weight, bias, *window) = chain.nodes[-1], chain.link.convolution.args[:6]
    residual = None if chain.sum is None else _added(chain.sum, chain.link.nodes[-1])
    with graph.inserting_before(last):
        if chain.branch is not None:
            residual = _without_norm(graph, chain.branch, factors)
        if chain.link.norm is not None:
            weight, bias = factors.weights[chain.link], factors.shifts[chain]
        fused_together = call(graph, FUSED, (
            image, _as_channels_last(graph, weight), bias, residual, *map(list, window)), last.meta["val"])
    last.replace_all_uses_with(fused_together)
    for node in reversed(chain.nodes):
        graph.erase_node(node)
    if chain.branch is not None:
        for node in reversed(chain.branch.nodes):
            graph.erase_node(node)


def _without_norm(graph, link, factors):
    image, _, _, *window = link.convolution.args
    return call(
        graph, aten.convolution.default, (image, factors.weights[link], None, *window), link.convolution.meta["val"])


def _as_channels_last(graph, weight):
    value = weight.meta["val"]
    if _lies_channels_last(value):
        return weight
    layout = _LAYOUTS[len(value.shape)]
    return call(graph, aten.clone.default, (weight,), lying(value, last_of_channels(value)), memory_format=layout)


class _Factors:
    """Weights times the factors of norms, and what is added after. All of a kind stand side by side, as early as they can:
    kernels are launched together that know nothing of each other."""

    def __init__(self, graph, chains):
        self.weights = {}  # _Link -> fx node.
        self.shifts = {}  # _Chain -> fx node.
        self._graph = graph
        first = next((node for node in graph.nodes if node.op != "placeholder"), None)
        chains = [chain for chain in chains if chain.link.norm is not None]
        held = [chain for chain in chains if all(_is_held(each) for each in chain.links)]
        for group in [held, *([chain] for chain in chains if chain not in held)]:
            if group:
                with graph.inserting_before(first if group is held else group[0].nodes[-1]):
                    self._compute(group)

    def _compute(self, chains):
        links = [link for chain in chains for link in chain.links]
        scales = {link: self._scale(link.norm) for link in links}
        for link in links:
            self.weights[link] = self._scaled(link.convolution.args[1], scales[link])
        for chain in chains:
            shift = self._shift(chain.link, scales[chain.link])
            if chain.branch is not None:
                shift = self._call(aten.add.Tensor, (shift, self._shift(chain.branch, scales[chain.branch])), shift.meta["val"])
            self.shifts[chain] = self._converted(shift, chain.link.convolution.meta["val"].dtype)

    def _scale(self, norm):
        variance, weight = (self._wide(named_argument(norm, name)) for name in ("running_var", "weight"))
        value = variance.meta["val"]
        scale = self._call(aten.add.Tensor, (variance, named_argument(norm, "eps")), value)
        scale = self._call(aten.rsqrt.default, (scale,), value)
        return scale if weight is None else self._call(aten.mul.Tensor, (scale, weight), value)

    def _scaled(self, weight, scale):
        wide, places = self._wide(weight), [-1, *[1] * (len(weight.meta["val"].shape) - 1)]
        value = scale.meta["val"]
        factor = self._call(aten.view.default, (scale, places), viewed(value, (value.shape[0], *places[1:])))
        product = self._call(aten.mul.Tensor, (wide, factor), wide.meta["val"])
        return self._converted(product, weight.meta["val"].dtype)

    def _shift(self, link, scale):
        mean, offset = (self._wide(named_argument(link.norm, name)) for name in ("running_mean", "bias"))
        bias, value = self._wide(link.convolution.args[2]), scale.meta["val"]
        if bias is not None:
            mean = self._call(aten.sub.Tensor, (mean, bias), value)
        shift = self._call(aten.neg.default, (self._call(aten.mul.Tensor, (mean, scale), value),), value)
        return shift if offset is None else self._call(aten.add.Tensor, (shift, offset), value)

    def _wide(self, source):
        return None if source is None else self._converted(source, torch.float32)

    def _converted(self, source, dtype):
        value = source.meta["val"]
        return source if value.dtype == dtype else self._call(
            CONVERT, (source,), retyped(value, dtype), dtype=dtype)

    def _call(self, target, arguments, value, **keywords):
        return call(self._graph, target, arguments, value, **keywords)


def _is_held(link):
    """Is all there from the start that goes into its weight and what is added after?"""
    names = ("running_var", "running_mean", "weight", "bias")
    sources = [*(named_argument(link.norm, name) for name in names), *link.convolution.args[1:3]]
    return all(source is None or source.op == "placeholder" for source in sources)
