"""Pooling: windows over the trailing dims; the leading dims are batch and channels."""

from math import inf, prod

from ..graph.dims import Dim, same
from ..graph.values import INTEGER_LIMITS
from .indexing import taken_at
from .rules.registry import Unsupported, compute_dtype, pair, rule

# Places of one window that are compared one by one, to know which was the largest.
MAX_PLACES = 64


def _behind(outputs, step, extent, gap, size, low):
    """How much padding is read behind a dim. A rounded-up output size reads beyond what is before it, a rounded-down one, maybe,
    not all of the input: as that depends on a size that varies, there is as much as before."""
    window = (extent - 1) * gap + 1
    if isinstance(size, Dim) and same((outputs,), ((size + 2 * low - window) // step + 1,)):
        return low
    return max(0, (outputs - 1) * step + window - size - low)


def _lowest(x):
    return -inf if x.is_float else INTEGER_LIMITS[x.dtype][0]


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
        self.high = [
            _behind(*each) for each in zip(self.outputs, self.stride, self.kernel, self.dilation, self.sizes, self.padding)]

    def rows(self, dim):
        """The places that each window looks at along a dim."""
        step, low, gap, extent = (
            values[dim] for values in (self.stride, self.padding, self.dilation, self.kernel))
        return [
            [place * step - low + nth * gap for nth in range(extent)]
            for place in range(self.outputs[dim])]

    def reduce(self, g, kind, x):
        lead = x.rank - self.count
        one, zero = [1] * lead, [0] * lead
        varying = [high if isinstance(high, Dim) else 0 for high in self.high]  # A window says numbers.
        nothing = 0 if kind == "add" else _lowest(x)
        x = g.pad(x, g.constant(nothing, x.dtype), zero + [0] * self.count, zero + varying)
        high = [0 if isinstance(high, Dim) else high for high in self.high]
        return g.reduce_window(
            kind, x, one + self.kernel, one + self.stride, zero + self.padding, zero + high, one + self.dilation)

    def counts(self, g, dim, include_padding):
        """How many elements each place along a dim averages over: a number, where they are as many, or a vector."""
        size, low, step, extent = (
            values[dim] for values in (self.sizes, self.padding, self.stride, self.kernel))
        begin, end = (-low, size + low) if include_padding else (0, size)
        if isinstance(self.outputs[dim], Dim):
            high = self.high[dim]
            is_inside = (include_padding or not low) and type(high) is int and high == low
            return extent if is_inside else self._counted(g, dim, begin, end)
        counts = [
            min(place * step - low + extent, end) - max(place * step - low, begin)
            for place in range(self.outputs[dim])]
        return counts[0] if len(set(counts)) == 1 else g.vector(counts, "i64")

    def _counted(self, g, dim, begin, end):
        places = g.iota(0, "i64", (self.outputs[dim],))
        first = g.with_scalar("subtract", g.with_scalar("multiply", places, self.stride[dim]), self.padding[dim])
        last = g.with_scalar("minimum", g.with_scalar("add", first, self.kernel[dim]), end)
        return g.binary("subtract", last, g.with_scalar("maximum", first, begin))


# ---- The largest of each window, and its place -----------------------------------------------------


def _largest(g, x, windows):
    """(values, places in the flattened trailing dims). windows[dim][new][n]: the n-th old place that a window
    looks at, or none of x's. As PyTorch's kernels go through a window: the first of equal numbers, the last NaN."""
    count = len(windows)
    lead = x.rank - count
    sizes = x.shape[lead:]
    extents = [len(rows[0]) for rows in windows]
    if prod(extents) > MAX_PLACES:
        raise Unsupported(f"the places of the maxima in windows of {prod(extents)} elements")
    lowest = _lowest(x)
    low = [max(0, -min(map(min, rows))) for rows in windows]
    high = [max(0, max(map(max, rows)) + 1 - size) for rows, size in zip(windows, sizes)]
    x = g.pad(x, g.constant(lowest, x.dtype), [0] * lead + low, [0] * lead + high)
    outputs = tuple(len(rows) for rows in windows)

    def place_of(columns):
        """The flat index of one old place in each new one: columns[dim][new]."""
        flat = None
        for dim, (column, size) in enumerate(zip(columns, sizes)):
            along = g.broadcast_in_dim(g.vector(column, "i64"), [dim], outputs)
            flat = along if flat is None else g.binary("add", g.with_scalar("multiply", flat, size), along)
        return g.broadcast(flat, x.shape[:lead] + outputs)

    best = g.constant(lowest, x.dtype, x.shape[:lead] + outputs)
    place = place_of([
        [next((old for old in row if 0 <= old < size), 0) for row in rows]
        for rows, size in zip(windows, sizes)])
    for window in range(prod(extents)):
        value, columns = x, []
        for dim in reversed(range(count)):
            window, nth = divmod(window, extents[dim])
            columns.insert(0, [row[nth] for row in windows[dim]])
            value = taken_at(g, value, lead + dim, [old + low[dim] for old in columns[0]])
        better = g.compare("GT", value, best)
        if x.is_float:
            better = g.binary("or", better, g.predicate("is_nan", value))
        best, place = g.select(better, value, best), g.select(better, place_of(columns), place)
    return best, place


def _max_pool(count):
    def emit(g, out, x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        values = out[0] if isinstance(out, tuple) and not hasattr(out, "dtype") else out
        window = Window(x, values.shape, count, kernel_size, stride, padding, dilation)
        if values is out:
            return window.reduce(g, "maximum", x)
        return (lambda: window.reduce(g, "maximum", x),
                lambda: _largest(g, x, [window.rows(dim) for dim in range(count)])[1])

    return emit


for _count in (1, 2, 3):
    rule(f"max_pool{_count}d_with_indices", f"max_pool{_count}d")(_max_pool(_count))


def _spans(size, n):
    """The (begin, end) that each of n places of an adaptive pool looks at."""
    return [(index * size // n, -(-(index + 1) * size // n)) for index in range(n)]


def _adaptive_max_pool(count):
    def emit(g, out, x, output_size):
        sizes, outputs = x.shape[-count:], out[0].shape[-count:]
        if 0 in out[0].shape:
            raise Unsupported("an empty result")
        windows = []
        for size, n in zip(sizes, outputs):
            spans = _spans(size, n)
            extent = max(end - begin for begin, end in spans)
            windows.append([
                [min(begin + nth, end - 1) for nth in range(extent)] for begin, end in spans])
        if any(size % n for size, n in zip(sizes, outputs)):
            return tuple(
                lambda place=place: _largest(g, x, windows)[place] for place in range(2))
        kernel = [size // n for size, n in zip(sizes, outputs)]
        return (lambda: Window(x, out[0].shape, count, kernel, [], 0).reduce(g, "maximum", x),
                lambda: _largest(g, x, windows)[1])

    return emit


rule("adaptive_max_pool2d")(_adaptive_max_pool(2))
rule("adaptive_max_pool3d")(_adaptive_max_pool(3))


def _placed(g, kind, values, places, shape, count):
    """Zeros of `shape`, with each value at its place in the flattened trailing dims."""
    batch, size = prod(shape[:len(shape) - count]), prod(shape[len(shape) - count:])
    here = prod(values.shape[values.rank - count:])
    row = g.iota(0, "i64", (batch, here, 1))
    vectors = g.concatenate([row, g.reshape(places, (batch, here, 1))], 2)
    zeros = g.constant(0, values.dtype, (batch, size))
    values = g.reshape(values, (batch, here))
    return g.reshape(g.scatter(kind, zeros, vectors, values, [], [0, 1], [0, 1]), shape)


def _max_pool_backward(count):
    def emit(g, out, grad, x, *args):
        *_, indices = args
        if 0 in grad.shape:
            return g.constant_like(0, out)
        wide = g.convert(grad, compute_dtype(out.dtype))
        return g.convert(_placed(g, "add", wide, indices, out.shape, count), out.dtype)

    return emit


for _count in (2, 3):
    rule(f"max_pool{_count}d_with_indices_backward", f"adaptive_max_pool{_count}d_backward")(
        _max_pool_backward(_count))


def _max_unpool(count):
    def emit(g, out, x, indices, output_size, *args):
        if 0 in x.shape:
            return g.constant_like(0, out)
        sizes = "x".join(str(int(size)) for size in out.shape[-count:])
        return g.checked(
            _placed(g, "assign", x, indices, out.shape, count), indices, 0, prod(out.shape[-count:]),
            f"Found an invalid max index: {{index}} (output volumes are of size {sizes})")

    return emit


rule("max_unpool2d")(_max_unpool(2))
rule("max_unpool3d")(_max_unpool(3))


# ---- Means ----------------------------------------------------------------------------------------


def _divided(g, x, window, include_padding):
    """x, which has the windows' shape, by how many elements each window averages over."""
    counts = [window.counts(g, dim, include_padding) for dim in range(window.count)]
    divisor = g.constant(prod(count for count in counts if isinstance(count, int)), x.dtype, x.shape)
    for dim, count in enumerate(counts):
        if not isinstance(count, int):
            along = g.broadcast_in_dim(g.convert(count, x.dtype), [x.rank - window.count + dim], x.shape)
            divisor = g.binary("multiply", divisor, along)
    return g.binary("divide", x, divisor)


def _avg_pool(count):
    def emit(g, out, x, kernel_size, stride=(), padding=0, ceil_mode=False,
             count_include_pad=True, divisor_override=None):
        window = Window(x, out.shape, count, kernel_size, stride, padding)
        result = window.reduce(g, "add", g.convert(x, compute_dtype(x.dtype)))
        if divisor_override is not None:
            return g.convert(g.with_scalar("divide", result, divisor_override), out.dtype)
        return g.convert(_divided(g, result, window, count_include_pad), out.dtype)

    return emit


for _count in (1, 2, 3):
    rule(f"avg_pool{_count}d")(_avg_pool(_count))


def _sums(g, x, dim, rows):
    """Each new place along a dim is the sum of the old ones that rows[new] lists; the same of nothing else."""
    extent = max(map(len, rows))
    if extent > MAX_PLACES:
        raise Unsupported(f"windows of {extent} elements along a dim, of unequal size")
    total = None
    for nth in range(extent):
        part = taken_at(g, x, dim, [row[nth] if nth < len(row) else 0 for row in rows])
        if not all(nth < len(row) for row in rows):
            there = g.broadcast_in_dim(g.vector([nth < len(row) for row in rows], "bool"), [dim], part.shape)
            part = g.select(there, part, g.constant(0, x.dtype))
        total = part if total is None else g.binary("add", total, part)
    return total


def _shared(g, x, dim, spans):
    """x / the size of each span along a dim."""
    sizes = [end - begin for begin, end in spans]
    return g.binary("divide", x, g.broadcast_in_dim(g.vector(sizes, x.dtype), [dim], x.shape))


def _adaptive_avg_pool(count):
    def emit(g, out, x, output_size):
        if count == 3 and 0 in x.shape[1:]:
            raise Unsupported(f"the mean of nothing, {list(x.shape)}")
        if 0 in out.shape:
            return g.constant_like(0, out)
        wide = g.convert(x, compute_dtype(x.dtype))
        sizes, outputs = x.shape[-count:], out.shape[-count:]
        if all(size % n == 0 for size, n in zip(sizes, outputs)):
            kernel = [size // n for size, n in zip(sizes, outputs)]
            window = Window(wide, out.shape, count, kernel, [], 0)
            result = g.with_scalar("divide", window.reduce(g, "add", wide), prod(kernel))
            return g.convert(result, out.dtype)
        for dim in range(x.rank - count, x.rank):
            spans = _spans(x.shape[dim], out.shape[dim])
            wide = _shared(g, _sums(g, wide, dim, [range(*span) for span in spans]), dim, spans)
        return g.convert(wide, out.dtype)

    return emit


rule("adaptive_avg_pool1d")(_adaptive_avg_pool(1))
rule("_adaptive_avg_pool2d", "adaptive_avg_pool2d")(_adaptive_avg_pool(2))
rule("_adaptive_avg_pool3d", "adaptive_avg_pool3d")(_adaptive_avg_pool(3))


def _avg_pool_backward(count):
    def emit(g, out, grad, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        """Each place gets a share of every window that it is in."""
        if 0 in grad.shape:
            return g.constant_like(0, out)
        window = Window(x, grad.shape, count, kernel_size, stride, padding)
        share = g.convert(grad, compute_dtype(out.dtype))
        if divisor_override is not None:
            share = g.with_scalar("divide", share, divisor_override)
        else:
            share = _divided(g, share, window, count_include_pad)
        lead = grad.rank - count
        edge = [0] * lead + [extent - 1 for extent in window.kernel]
        zero, none, one = g.constant(0, share.dtype), [0] * grad.rank, [1] * grad.rank
        spread = g.pad(share, zero, edge, edge, [0] * lead + [step - 1 for step in window.stride])
        sums = g.reduce_window("add", spread, [1] * lead + window.kernel, one, none, none, one)
        low = [0] * lead + [-before for before in window.padding]
        high = [size - have - before for size, have, before in zip(out.shape, sums.shape, low)]
        return g.convert(g.pad(sums, zero, low, high), out.dtype)

    return emit


rule("avg_pool2d_backward")(_avg_pool_backward(2))
rule("avg_pool3d_backward")(_avg_pool_backward(3))


def _adaptive_avg_pool_backward(count):
    def emit(g, out, grad, x):
        if 0 in grad.shape:
            return g.constant_like(0, out)
        wide = g.convert(grad, compute_dtype(out.dtype))
        for dim in range(grad.rank - count, grad.rank):
            spans = _spans(out.shape[dim], grad.shape[dim])
            wide = _sums(g, _shared(g, wide, dim, spans), dim, [
                [new for new, (begin, end) in enumerate(spans) if begin <= old < end]
                for old in range(out.shape[dim])])
        return g.convert(wide, out.dtype)

    return emit


rule("_adaptive_avg_pool2d_backward")(_adaptive_avg_pool_backward(2))
rule("_adaptive_avg_pool3d_backward")(_adaptive_avg_pool_backward(3))
