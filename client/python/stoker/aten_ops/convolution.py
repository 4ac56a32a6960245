"""Convolutions. Windows over the trailing dims; the leading dims are batch and channels."""

from .registry import pair, rule


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
