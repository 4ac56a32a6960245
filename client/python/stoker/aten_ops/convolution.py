"""Convolutions. Windows over the trailing dims; the leading dims are batch and channels."""

from math import gcd, prod
from typing import NamedTuple

from .rules.registry import Unsupported, compute_dtype, pair, rule

# Of a convolution in groups, or of one place without a stride, whose gradients are computed here: what they cost is then
# less than to leave a segment. Beyond that oneDNN's were up to 15 times faster in groups, and up to three times for one
# place. Of others the ones and the others take the same time within a quarter, and the graph is not cut.
MAX_MULTIPLIES = 1 << 18


def _transposed_weight(g, w, groups):
    """[C, O / groups, ...] as the mirrored [O, C / groups, ...]."""
    spatial = list(range(2, w.rank))
    inputs, outputs = w.shape[:2]
    grouped = g.reshape(w, (groups, inputs // groups, outputs, *w.shape[2:]))
    swapped = g.transpose(grouped, [0, 2, 1, *range(3, grouped.rank)])
    merged = g.reshape(swapped, (groups * outputs, inputs // groups, *w.shape[2:]))
    return g.reverse(merged, spatial)


class _Phase(NamedTuple):
    """Along one dim, the places that lie alike between two elements of what a stride spreads out."""

    first: int  # Of the weight's places that reach them,
    step: int  # each of these in turn,
    count: int  # and so many.
    gap: int  # Between what two of them read.
    low: int  # Padding.


def _phases(extent, stride, padding, dilation):
    """A _Phase, or None where the weight reaches none, for each place modulo the stride. Place i is the sum over the
    weight's places k of what lies at (i + padding - k * dilation) / stride, where that is whole."""
    step, gap = stride // gcd(stride, dilation), dilation // gcd(stride, dilation)
    for phase in range(stride):
        first = next((k for k in range(min(step, extent)) if (phase + padding - k * dilation) % stride == 0), None)
        if first is None:
            yield None
            continue
        count = -(-(extent - first) // step)
        reach = (count - 1) * gap
        yield _Phase(first, step, count, gap, reach - (phase + padding - first * dilation) // stride)


def _transposed(g, x, w, sizes, stride, padding, dilation, groups):
    """[N, O, ...] of a transposed convolution, with spatial `sizes`. A stride spreads x out, with zeros between that
    nobody needs to multiply: each phase is a convolution of x itself, and all of them interleave."""
    phases = [
        list(_phases(*along)) for along in zip(w.shape[2:], stride, padding, dilation)]
    places = [-(-size // step) for size, step in zip(sizes, stride)]  # Of each phase; the last may be too many.

    def part(chosen):
        shape = (x.shape[0], w.shape[1] * groups, *places)
        if None in chosen:
            return g.constant(0, x.dtype, shape)
        own = w
        for dim, phase in enumerate(chosen, 2):
            own = g.slice_dim(own, dim, phase.first, phase.first + (phase.count - 1) * phase.step + 1, phase.step)
        low = [phase.low for phase in chosen]
        high = [
            count - size - phase.low + (phase.count - 1) * phase.gap
            for count, size, phase in zip(places, x.shape[2:], chosen)]
        ones = [1] * len(low)
        return g.convolution(
            x, _transposed_weight(g, own, groups), ones, low, high, [phase.gap for phase in chosen], ones, groups)

    def interleaved(chosen):
        """All that begin with the phases `chosen`, as [N, O, places, phases, places, phases, ...]."""
        dim = len(chosen)
        if dim == len(phases):
            result = part(chosen)
            return g.reshape(result, (*result.shape[:2], *(size for place in places for size in (place, 1))))
        return g.concatenate([interleaved((*chosen, phase)) for phase in phases[dim]], 3 + 2 * dim)

    result = interleaved(())
    whole = g.reshape(result, (*result.shape[:2], *(place * step for place, step in zip(places, stride))))
    return g.slice(whole, [0] * whole.rank, (*whole.shape[:2], *sizes))


@rule("convolution", "convolution_overrideable", "_convolution")
def convolution(g, out, x, w, bias, stride, padding, dilation, transposed, output_padding, groups,
                *backend_flags):
    count = w.rank - 2
    stride, padding, dilation, extra = (
        pair(values, count) for values in (stride, padding, dilation, output_padding))
    if any(step < 1 for step in (*stride, *dilation)):
        raise Unsupported("steps that are not positive")
    unbatched = x.rank == count + 1
    if unbatched:
        x = g.reshape(x, (1, *x.shape))
    ones = [1] * count
    if transposed:
        sizes = [
            (size - 1) * step - 2 * around + gap * (extent - 1) + 1 + after for size, step, around, gap, extent, after
            in zip(x.shape[2:], stride, padding, dilation, w.shape[2:], extra)]
        result = _transposed(g, x, w, sizes, stride, padding, dilation, groups)
    else:
        result = g.convolution(x, w, stride, padding, padding, dilation, ones, groups)
    if bias is not None:
        result = g.binary("add", result, g.reshape(bias, (*bias.shape, *ones)))
    return g.reshape(result, out.shape)


def _swapped(g, x, groups):
    """[N, groups * C, ...] as [C, groups * N, ...]: what was summed over is the batch, and the batch is summed over."""
    batch, channels = x.shape[:2]
    grouped = g.reshape(x, (batch, groups, channels // groups, *x.shape[2:]))
    swapped = g.transpose(grouped, [2, 1, 0, *range(3, grouped.rank)])
    return g.reshape(swapped, (channels // groups, groups * batch, *x.shape[2:]))


def _weight_gradient(g, x, grad, shape, stride, padding, dilation, groups):
    """Of a convolution of x: the gradient slides over x as the weight did, with stride and dilation exchanged."""
    if groups == 1 and not any(padding) and prod(shape[2:]) == 1:  # A product of matrices.
        steps = [1, 1, *stride]
        read = [(size - 1) * step + 1 for size, step in zip(grad.shape, steps)]
        read[1] = x.shape[1]
        contracted = [0, *range(2, x.rank)]
        return g.reshape(g.dot(grad, g.slice(x, [0] * x.rank, read, steps), [], contracted, [], contracted), shape)
    kernel = g.transpose(grad, [1, 0, *range(2, grad.rank)])
    # What a stride leaves over is not read.
    high = [
        (extent - 1) * gap + 1 + (places - 1) * step - size - low
        for extent, gap, places, step, size, low in zip(
            shape[2:], dilation, grad.shape[2:], stride, x.shape[2:], padding)]
    ones = [1] * len(stride)
    result = g.convolution(
        _swapped(g, x, groups), kernel, dilation, padding, high, stride, ones, groups)
    return g.reshape(g.transpose(result, [1, 0, *range(2, result.rank)]), shape)


@rule("convolution_backward")
def convolution_backward(g, out, grad, x, w, bias_sizes, stride, padding, dilation, transposed,
                         output_padding, groups, output_mask):
    count = w.rank - 2
    stride, padding, dilation = (pair(values, count) for values in (stride, padding, dilation))
    if 0 in grad.shape or 0 in x.shape or 0 in w.shape:
        raise Unsupported("an empty convolution's gradient")
    narrow = x if transposed else grad
    is_slower = groups > 1 or prod(w.shape[2:]) == prod(stride) == 1
    if is_slower and prod(narrow.shape) * prod(w.shape[1:]) > MAX_MULTIPLIES:
        raise Unsupported("PyTorch's library has the faster gradients of large convolutions in groups, or of one place")
    ones = [1] * count

    def of_x():
        if transposed:
            result = g.convolution(grad, w, stride, padding, padding, dilation, ones, groups)
            return g.slice(result, [0] * result.rank, x.shape)
        return _transposed(g, grad, w, x.shape[2:], stride, padding, dilation, groups)

    def of_weight():
        over, slid = (grad, x) if transposed else (x, grad)
        return _weight_gradient(g, over, slid, w.shape, stride, padding, dilation, groups)

    def of_bias():
        wide = g.convert(grad, compute_dtype(grad.dtype))
        return g.convert(g.reduce("add", wide, [0, *range(2, grad.rank)]), grad.dtype)

    return tuple(
        make if wanted else None for wanted, make in zip(output_mask, (of_x, of_weight, of_bias)))
