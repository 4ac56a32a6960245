"""Convolutions and pooling. Windows over the trailing dims; the leading dims are batch and channels."""

from math import prod

from .registry import Unsupported, compute_dtype, pair, rule


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


# ---- Pooling --------------------------------------------------------------------------------------


class Window:
    """A pooling window over the last `count` dims that gives the sizes of `shape`."""

    def __init__(self, x, shape, count, kernel_size, stride, padding, dilation=1):
        self.count = count
        self.kernel = pair(kernel_size, count)
        self.stride = pair(stride, count) if stride != [] and stride != () else self.kernel
        self.padding = pair(padding, count)
        self.dilation = pair(dilation, count)
        self.sizes = x.shape[-count:]
        self.outputs = shape[-count:]
        # A rounded-up output size reads beyond the padding, a rounded-down one not all of the input.
        self.high = [
            max(0, (outputs - 1) * step + (extent - 1) * gap + 1 - size - low)
            for outputs, step, extent, gap, size, low in zip(
                self.outputs, self.stride, self.kernel, self.dilation, self.sizes, self.padding)]

    def reduce(self, g, kind, x):
        lead = x.rank - self.count
        one, zero = [1] * lead, [0] * lead
        return g.reduce_window(
            kind, x, one + self.kernel, one + self.stride, zero + self.padding, zero + self.high,
            one + self.dilation)

    def counts(self, dim, include_padding):
        """How many elements each place along a dim averages over."""
        size, low, step, extent = (
            values[dim] for values in (self.sizes, self.padding, self.stride, self.kernel))
        begin, end = (-low, size + low) if include_padding else (0, size)
        return [
            min(place * step - low + extent, end) - max(place * step - low, begin)
            for place in range(self.outputs[dim])]


def _max_pool(count):
    def emit(g, out, x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        values = out[0] if isinstance(out, tuple) and not hasattr(out, "dtype") else out
        window = Window(x, values.shape, count, kernel_size, stride, padding, dilation)
        result = window.reduce(g, "maximum", x)
        if values is out:
            return result

        def indices():
            raise Unsupported("the places of the maxima")

        return result, indices

    return emit


for _count in (1, 2, 3):
    rule(f"max_pool{_count}d_with_indices", f"max_pool{_count}d")(_max_pool(_count))


def _avg_pool(count):
    def emit(g, out, x, kernel_size, stride=(), padding=0, ceil_mode=False,
             count_include_pad=True, divisor_override=None):
        window = Window(x, out.shape, count, kernel_size, stride, padding)
        result = window.reduce(g, "add", g.convert(x, compute_dtype(x.dtype)))
        if divisor_override is not None:
            return g.convert(g.with_scalar("divide", result, divisor_override), out.dtype)
        counts = [window.counts(dim, count_include_pad) for dim in range(count)]
        if all(len(set(values)) == 1 for values in counts):
            result = g.with_scalar("divide", result, prod(values[0] for values in counts))
        else:
            divisor = None
            for dim, values in enumerate(counts):
                along = g.broadcast_in_dim(
                    g.vector(values, result.dtype), [result.rank - count + dim], result.shape)
                divisor = along if divisor is None else g.binary("multiply", divisor, along)
            result = g.binary("divide", result, divisor)
        return g.convert(result, out.dtype)

    return emit


for _count in (1, 2, 3):
    rule(f"avg_pool{_count}d")(_avg_pool(_count))


def _weighted(g, x, dim, rows):
    """Each place along `dim` becomes a weighted sum of the old ones: rows[new][old]."""
    flat = [weight for row in rows for weight in row]
    matrix = g.reshape(g.vector(flat, x.dtype), (len(rows), len(rows[0])))
    product = g.dot(x, matrix, [], [dim], [], [1])
    order = list(range(x.rank - 1))
    order.insert(dim, x.rank - 1)
    return g.transpose(product, order)


def _adaptive_avg_pool(count):
    def emit(g, out, x, output_size):
        wide = g.convert(x, compute_dtype(x.dtype))
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        if 0 not in outputs and all(size % n == 0 for size, n in zip(sizes, outputs)):
            kernel = [size // n for size, n in zip(sizes, outputs)]
            window = Window(wide, out.shape, count, kernel, [], 0)
            result = g.with_scalar("divide", window.reduce(g, "add", wide), prod(kernel))
            return g.convert(result, out.dtype)
        for place, (size, n) in enumerate(zip(sizes, outputs)):
            rows = []
            for index in range(n):
                begin, end = index * size // n, -(-(index + 1) * size // n)
                rows.append([
                    1 / (end - begin) if begin <= old < end else 0.0 for old in range(size)])
            if not rows:
                raise Unsupported("an empty result")
            wide = _weighted(g, wide, x.rank - count + place, rows)
        return g.convert(wide, out.dtype)

    return emit


rule("adaptive_avg_pool1d")(_adaptive_avg_pool(1))
rule("_adaptive_avg_pool2d", "adaptive_avg_pool2d")(_adaptive_avg_pool(2))
rule("_adaptive_avg_pool3d", "adaptive_avg_pool3d")(_adaptive_avg_pool(3))


def _adaptive_max_pool(count):
    def emit(g, out, x, output_size):
        values = out[0]
        sizes, outputs = x.shape[-count:], values.shape[-count:]
        if 0 in outputs or any(size % n for size, n in zip(sizes, outputs)):
            raise Unsupported("windows of unequal size")

        def indices():
            raise Unsupported("the places of the maxima")

        kernel = [size // n for size, n in zip(sizes, outputs)]
        return Window(x, values.shape, count, kernel, [], 0).reduce(g, "maximum", x), indices

    return emit


rule("adaptive_max_pool2d")(_adaptive_max_pool(2))
rule("adaptive_max_pool3d")(_adaptive_max_pool(3))


# ---- Resizing -------------------------------------------------------------------------------------


def _scales(sizes, outputs, factors):
    """Old places per new place along each dim."""
    return [
        1 / factor if factor else size / n
        for size, n, factor in zip(sizes, outputs, factors or [None] * len(sizes))]


def _nearest(count):
    def emit(g, out, x, output_size, *factors):
        if len(factors) == 1 and factors[0] is not None and not isinstance(factors[0], float):
            factors = factors[0]
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        for place, (size, n, scale) in enumerate(
                zip(sizes, outputs, _scales(sizes, outputs, factors))):
            dim = x.rank - count + place
            if n % size == 0 and scale == size / n:
                x = _repeated(g, x, dim, n // size)
                continue
            old = g.vector([min(int(index * scale), size - 1) for index in range(n)], "i64")
            offsets = [d for d in range(x.rank) if d != dim]
            slices = [1 if d == dim else s for d, s in enumerate(x.shape)]
            x = g.gather(x, g.reshape(old, (n, 1)), offsets, [dim], [dim], slices)
        return x

    return emit


def _repeated(g, x, dim, times):
    if times == 1:
        return x
    wide = x.shape[:dim + 1] + (times,) + x.shape[dim + 1:]
    kept = [d for d in range(len(wide)) if d != dim + 1]
    merged = x.shape[:dim] + (x.shape[dim] * times,) + x.shape[dim + 1:]
    return g.reshape(g.broadcast_in_dim(x, kept, wide), merged)


for _count in (1, 2, 3):
    rule(f"upsample_nearest{_count}d", f"upsample_nearest{_count}d.vec")(_nearest(_count))


def _linear_rows(size, n, scale, align_corners):
    rows = []
    for index in range(n):
        if align_corners:
            place = index * (size - 1) / (n - 1) if n > 1 else 0.0
        else:
            place = max(0.0, (index + 0.5) * scale - 0.5)
        low = min(int(place), size - 1)
        high = min(low + 1, size - 1)
        row = [0.0] * size
        row[low] += 1 - (place - low)
        row[high] += place - low
        rows.append(row)
    return rows


def _linear_resize(count):
    def emit(g, out, x, output_size, align_corners, *factors):
        if len(factors) == 1 and factors[0] is not None and not isinstance(factors[0], float):
            factors = factors[0]
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        wide = g.convert(x, compute_dtype(x.dtype))
        for place, (size, n, scale) in enumerate(
                zip(sizes, outputs, _scales(sizes, outputs, factors))):
            if size != n:
                wide = _weighted(
                    g, wide, x.rank - count + place, _linear_rows(size, n, scale, align_corners))
        return g.convert(wide, out.dtype)

    return emit


for _count, _kind in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    rule(f"upsample_{_kind}", f"upsample_{_kind}.vec")(_linear_resize(_count))
