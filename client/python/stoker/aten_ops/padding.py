"""Padding, and the gradients of parts: elements with others around them, zeros or their own mirror image. What
overlaps is added up in f32 or better."""

from .rules.registry import Unsupported, compute_dtype, dim_of, pair, rule

# Elements of a window that are added up, or put side by side, one by one.
MAX_WINDOW = 64


def bounds(size, start, end):
    """A Python slice's bounds within a dim of `size`."""
    start = _within(0 if start is None else start, size)
    return start, max(start, _within(size if end is None else end, size))


def _within(place, size):
    """A place that may count from the end, and be beyond either end."""
    return max(place + size, 0) if place < 0 else min(place, size)


def apart(g, x, dim, start, size, step=1):
    """Zeros of `size` along a dim, with x in them: x[0] at `start`, each next one `step` further."""
    low, high, interior = ([0] * x.rank for _ in range(3))
    low[dim], interior[dim] = start, step - 1
    high[dim] = size - start - ((x.shape[dim] - 1) * step + 1)
    if not x.shape[dim]:
        return g.constant(0, x.dtype, x.shape[:dim] + (size,) + x.shape[dim + 1:])
    return g.pad(x, g.constant(0, x.dtype), low, high, interior)


# ---- Padding --------------------------------------------------------------------------------------


@rule("constant_pad_nd", "pad")
def constant_pad(g, out, x, pad, mode="constant", value=None):
    if not isinstance(mode, str):
        mode, value = "constant", mode
    value = 0 if value is None else value
    if mode != "constant":
        raise Unsupported(f"padding of mode {mode}")
    low, high = [0] * x.rank, [0] * x.rank
    for position in range(len(pad) // 2):
        dim = x.rank - 1 - position
        low[dim], high[dim] = pad[2 * position:2 * position + 2]
    return g.pad(x, g.constant(value, x.dtype), low, high)


def _mirrored(g, x, dim, before, after):
    """Reflection about the outermost elements."""
    size = x.shape[dim]
    parts = [g.slice_dim(x, dim, max(0, -before), size - max(0, -after))]
    if before > 0:
        parts.insert(0, g.reverse(g.slice_dim(x, dim, 1, before + 1), [dim]))
    if after > 0:
        parts.append(g.reverse(g.slice_dim(x, dim, size - 1 - after, size - 1), [dim]))
    return g.concatenate(parts, dim)


def _replicated(g, x, dim, before, after):
    size = x.shape[dim]

    def edge(index, count):
        shape = x.shape[:dim] + (count,) + x.shape[dim + 1:]
        return [g.broadcast(g.slice_dim(x, dim, index, index + 1), shape)] if count > 0 else []

    middle = g.slice_dim(x, dim, max(0, -before), size - max(0, -after))
    return g.concatenate([*edge(0, before), middle, *edge(size - 1, after)], dim)


def _pad_dims(pad_dim):
    def emit(g, out, x, padding):
        for position in range(len(padding) // 2):
            x = pad_dim(g, x, x.rank - 1 - position, *padding[2 * position:2 * position + 2])
        return x

    return emit


for _rank in ("1d", "2d", "3d"):
    rule(f"reflection_pad{_rank}")(_pad_dims(_mirrored))
    rule(f"replication_pad{_rank}")(_pad_dims(_replicated))


def _middle_backward(g, grad, dim, before, after):
    """(what is not padding, at its place along a dim before padding; the size of that)."""
    size = grad.shape[dim] - before - after
    middle = g.slice_dim(grad, dim, max(0, before), grad.shape[dim] - max(0, after))
    return apart(g, middle, dim, max(0, -before), size), size


def _mirrored_backward(g, grad, dim, before, after):
    result, size = _middle_backward(g, grad, dim, before, after)
    end = grad.shape[dim]
    if before > 0:
        left = g.reverse(g.slice_dim(grad, dim, 0, before), [dim])
        result = g.binary("add", result, apart(g, left, dim, 1, size))
    if after > 0:
        right = g.reverse(g.slice_dim(grad, dim, end - after, end), [dim])
        result = g.binary("add", result, apart(g, right, dim, size - 1 - after, size))
    return result


def _replicated_backward(g, grad, dim, before, after):
    result, size = _middle_backward(g, grad, dim, before, after)
    end = grad.shape[dim]
    for count, start, place in ((before, 0, 0), (after, end - after, size - 1)):
        if count > 0:
            edge = g.reduce("add", g.slice_dim(grad, dim, start, start + count), [dim], keepdim=True)
            result = g.binary("add", result, apart(g, edge, dim, place, size))
    return result


def _pad_dims_backward(pad_dim_backward):
    def emit(g, out, grad, x, padding):
        wide = g.convert(grad, compute_dtype(out.dtype))
        for position in range(len(padding) // 2):
            dim = x.rank - 1 - position
            wide = pad_dim_backward(g, wide, dim, *padding[2 * position:2 * position + 2])
        return g.convert(wide, out.dtype)

    return emit


for _rank in ("1d", "2d", "3d"):
    rule(f"reflection_pad{_rank}_backward")(_pad_dims_backward(_mirrored_backward))
    rule(f"replication_pad{_rank}_backward")(_pad_dims_backward(_replicated_backward))


# ---- Gradients of parts: zeros around them ---------------------------------------------------------


@rule("slice_backward")
def slice_backward(g, out, grad, input_sizes, dim, start, end, step):
    dim = dim_of(dim, len(out.shape))
    start, _ = bounds(out.shape[dim], start, end)
    return apart(g, grad, dim, start, out.shape[dim], step)


@rule("select_backward")
def select_backward(g, out, grad, input_sizes, dim, index):
    dim = dim_of(dim, len(out.shape))
    row = g.reshape(grad, out.shape[:dim] + (1,) + out.shape[dim + 1:])
    return apart(g, row, dim, dim_of(index, out.shape[dim]), out.shape[dim])


@rule("unfold_backward")
def unfold_backward(g, out, grad, input_sizes, dim, size, step):
    if not out.shape:
        return g.reshape(grad, out.shape)
    dim = dim_of(dim, len(out.shape))
    if size > MAX_WINDOW:
        raise Unsupported(f"windows of {size} elements")
    wide = g.convert(grad, compute_dtype(out.dtype))
    total = g.constant(0, wide.dtype, out.shape)
    for place in range(size):
        part = g.reshape(g.slice_dim(wide, wide.rank - 1, place, place + 1), wide.shape[:-1])
        total = g.binary("add", total, apart(g, part, dim, place, out.shape[dim], step))
    return g.convert(total, out.dtype)


# ---- Windows of images as columns -------------------------------------------------------------------


def _window_places(kernel, dilation):
    """((row, column) in a window, where it lies from the window's corner)."""
    if kernel[0] * kernel[1] > MAX_WINDOW:
        raise Unsupported(f"windows of {kernel[0] * kernel[1]} elements")
    return [(row * dilation[0], column * dilation[1])
            for row in range(kernel[0]) for column in range(kernel[1])]


def _counts(sizes, kernel, dilation, padding, stride):
    return [
        (size + 2 * around - gap * (extent - 1) - 1) // step + 1
        for size, extent, gap, around, step in zip(sizes, kernel, dilation, padding, stride)]


@rule("im2col")
def im2col(g, out, x, kernel_size, dilation, padding, stride):
    kernel, dilation, padding, stride = (pair(v, 2) for v in (kernel_size, dilation, padding, stride))
    lead = x.rank - 2
    counts = _counts(x.shape[lead:], kernel, dilation, padding, stride)
    x = g.pad(x, g.constant(0, x.dtype), [0] * lead + padding, [0] * lead + padding)
    parts = []
    for place in _window_places(kernel, dilation):
        part = x
        for dim in range(2):
            limit = place[dim] + (counts[dim] - 1) * stride[dim] + 1
            part = g.slice_dim(part, lead + dim, place[dim], limit, stride[dim])
        parts.append(g.reshape(part, (*x.shape[:lead], 1, counts[0] * counts[1])))
    return g.reshape(g.concatenate(parts, lead), out.shape)


@rule("col2im")
def col2im(g, out, x, output_size, kernel_size, dilation, padding, stride):
    kernel, dilation, padding, stride = (pair(v, 2) for v in (kernel_size, dilation, padding, stride))
    lead = len(out.shape) - 2
    counts = _counts(output_size, kernel, dilation, padding, stride)
    sizes = [size + 2 * around for size, around in zip(output_size, padding)]
    wide = g.convert(x, compute_dtype(out.dtype))
    wide = g.reshape(wide, (*out.shape[:lead], kernel[0] * kernel[1], *counts))
    total = g.constant(0, wide.dtype, (*out.shape[:lead], *sizes))
    for nth, place in enumerate(_window_places(kernel, dilation)):
        part = g.reshape(g.slice_dim(wide, lead, nth, nth + 1), (*out.shape[:lead], *counts))
        for dim in range(2):
            part = apart(g, part, lead + dim, place[dim], sizes[dim], stride[dim])
        total = g.binary("add", total, part)
    inner = [0] * lead + padding
    limits = [*out.shape[:lead], *(before + size for before, size in zip(padding, output_size))]
    return g.convert(g.slice(total, inner, limits), out.dtype)
