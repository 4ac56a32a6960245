"""Convolutions. Windows over the trailing dims; the leading dims are batch and channels."""

from math import prod

from .registry import Unsupported, compute_dtype, pair, rule

# Of a convolution whose gradients are computed here: what they cost is then less than to leave a segment. Beyond
# that, they were up to six times slower than oneDNN's for few channels, strides and groups.
MAX_GRADIENT_MULTIPLIES = 1 << 18


def _transposed_weight(g, w, groups):
    """[C, O / groups, ...] as the mirrored [O, C / groups, ...]."""
    spatial = list(range(2, w.rank))
    inputs, outputs = w.shape[:2]
    grouped = g.reshape(w, (groups, inputs // groups, outputs, *w.shape[2:]))
    swapped = g.transpose(grouped, [0, 2, 1, *range(3, grouped.rank)])
    merged = g.reshape(swapped, (groups * outputs, inputs // groups, *w.shape[2:]))
    return g.reverse(merged, spatial)


@rule("convolution", "convolution_overrideable", "_convolution")
def convolution(g, out, x, w, bias, stride, padding, dilation, transposed, output_padding, groups,
                *backend_flags):
    count = w.rank - 2
    stride, padding, dilation, extra = (
        pair(values, count) for values in (stride, padding, dilation, output_padding))
    unbatched = x.rank == count + 1
    if unbatched:
        x = g.reshape(x, (1, *x.shape))
    ones = [1] * count
    if transposed:
        reach = [gap * (size - 1) for gap, size in zip(dilation, w.shape[2:])]
        low = [r - p for r, p in zip(reach, padding)]
        high = [a + b for a, b in zip(low, extra)]
        w = _transposed_weight(g, w, groups)
        result = g.convolution(x, w, ones, low, high, dilation, stride, groups)
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
    if prod(narrow.shape) * prod(w.shape[1:]) > MAX_GRADIENT_MULTIPLIES:
        raise Unsupported("PyTorch's library has the faster gradients of large convolutions")
    ones = [1] * count

    def of_x():
        if transposed:
            result = g.convolution(grad, w, stride, padding, padding, dilation, ones, groups)
            return g.slice(result, [0] * result.rank, x.shape)
        reach = [gap * (size - 1) for gap, size in zip(dilation, w.shape[2:])]
        low = [r - p for r, p in zip(reach, padding)]
        high = [
            size - ((places - 1) * step + 1 + before - r)
            for size, places, step, before, r in zip(x.shape[2:], grad.shape[2:], stride, low, reach)]
        return g.convolution(
            grad, _transposed_weight(g, w, groups), ones, low, high, dilation, stride, groups)

    def of_weight():
        over, slid = (grad, x) if transposed else (x, grad)
        return _weight_gradient(g, over, slid, w.shape, stride, padding, dilation, groups)

    def of_bias():
        wide = g.convert(grad, compute_dtype(grad.dtype))
        return g.convert(g.reduce("add", wide, [0, *range(2, grad.rank)]), grad.dtype)

    return tuple(
        make if wanted else None for wanted, make in zip(output_mask, (of_x, of_weight, of_bias)))
