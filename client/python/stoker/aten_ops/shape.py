"""Operators that move or select elements without computing: views, joins, padding, repetition."""

from math import prod

from ..graph_text import Value
from .registry import Unsupported, dim_of, rule

# ---- Views: the result's shape says it all --------------------------------------------------------


@rule("view", "_unsafe_view", "reshape", "_reshape_alias", "squeeze", "squeeze.dim", "squeeze.dims",
      "unsqueeze", "flatten.using_ints", "unflatten.int", "view_copy", "unsqueeze_copy")
def reshape(g, out, x, *args, **kwargs):
    return g.reshape(x, out.shape)


@rule("expand", "expand_as", "broadcast_to")
def expand(g, out, x, *args, **kwargs):
    return g.broadcast(x, out.shape)


@rule("permute")
def permute(g, out, x, dims):
    return g.transpose(x, [dim_of(dim, x.rank) for dim in dims])


@rule("t", "numpy_T")
def t(g, out, x):
    return g.transpose(x, range(x.rank - 1, -1, -1))


@rule("transpose.int", "swapaxes")
def transpose(g, out, x, dim0, dim1):
    dims = list(range(x.rank))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return g.transpose(x, dims)


@rule("movedim.int")
def movedim(g, out, x, source, destination):
    dims = list(range(x.rank))
    dims.insert(dim_of(destination, x.rank), dims.pop(dim_of(source, x.rank)))
    return g.transpose(x, dims)


# ---- Parts ----------------------------------------------------------------------------------------


def _bounds(size, start, end):
    """A Python slice's bounds within a dim of `size`."""
    start, end, _ = slice(start, end).indices(size)
    return start, max(start, end)


@rule("slice.Tensor", "slice_copy.Tensor")
def slice_tensor(g, out, x, dim=0, start=None, end=None, step=1):
    dim = dim_of(dim, x.rank)
    return g.slice_dim(x, dim, *_bounds(x.shape[dim], start, end), step)


@rule("narrow")
def narrow(g, out, x, dim, start, length):
    if isinstance(start, Value):
        raise Unsupported("a start that is a tensor")
    dim = dim_of(dim, x.rank)
    start = dim_of(start, x.shape[dim])
    return g.slice_dim(x, dim, start, start + length)


@rule("select.int")
def select(g, out, x, dim, index):
    dim = dim_of(dim, x.rank)
    index = dim_of(index, x.shape[dim])
    return g.reshape(g.slice_dim(x, dim, index, index + 1), out.shape)


def _split(g, x, sizes, dim):
    """The parts as functions: those that nobody uses are not made."""
    dim = dim_of(dim, x.rank)
    start, parts = 0, []
    for size in sizes:
        parts.append(lambda start=start, size=size: g.slice_dim(x, dim, start, start + size))
        start += size
    return tuple(parts)


@rule("split.Tensor", "split.sizes", "split_with_sizes", "split_with_sizes_copy",
      "split_copy.Tensor", "chunk", "tensor_split.sections", "tensor_split.indices")
def split(g, out, x, sizes, dim=0):
    dim = dim_of(dim, x.rank)
    return _split(g, x, [part.shape[dim] for part in out], dim)


@rule("unbind.int", "unbind_copy.int")
def unbind(g, out, x, dim=0):
    dim = dim_of(dim, x.rank)
    return tuple(
        lambda index=index, part=part: g.reshape(g.slice_dim(x, dim, index, index + 1), part.shape)
        for index, part in enumerate(out))


@rule("diagonal", "diagonal_copy")
def diagonal(g, out, x, offset=0, dim1=0, dim2=1):
    """Every (columns + 1)-th element of the flattened matrix."""
    dim1, dim2 = dim_of(dim1, x.rank), dim_of(dim2, x.rank)
    rest = [dim for dim in range(x.rank) if dim not in (dim1, dim2)]
    x = g.transpose(x, [*rest, dim1, dim2])
    rows, columns = x.shape[-2:]
    count = out.shape[-1]
    first = offset if offset >= 0 else -offset * columns
    flat = g.reshape(x, (*x.shape[:-2], rows * columns))
    limit = first + (count - 1) * (columns + 1) + 1 if count else first
    return g.slice_dim(flat, flat.rank - 1, first if count else 0, limit if count else 0, columns + 1)


@rule("unfold")
def unfold(g, out, x, dimension, size, step):
    """Windows along a dim: one strided slice for each place in the window."""
    if not x.rank:
        return g.reshape(x, out.shape)
    dim = dim_of(dimension, x.rank)
    count = out.shape[dim]
    places = [
        g.reshape(
            g.slice_dim(x, dim, place, place + (count - 1) * step + 1, step), out.shape[:-1] + (1,))
        for place in range(size)]
    return g.concatenate(places, len(out.shape) - 1)


@rule("flip")
def flip(g, out, x, dims):
    return g.reverse(x, [dim_of(dim, x.rank) for dim in dims]) if dims and x.rank else x


@rule("roll")
def roll(g, out, x, shifts, dims=()):
    if not dims:
        flat = g.reshape(x, (prod(x.shape),))
        return g.reshape(_roll_dim(g, flat, 0, shifts[0] if shifts else 0), out.shape)
    for shift, dim in zip(shifts, dims):
        x = _roll_dim(g, x, dim_of(dim, x.rank), shift)
    return x


def _roll_dim(g, x, dim, shift):
    size = x.shape[dim]
    split_at = -shift % size if size else 0
    if split_at == 0:
        return x
    return g.concatenate(
        [g.slice_dim(x, dim, split_at, size), g.slice_dim(x, dim, 0, split_at)], dim)


# ---- Joins ----------------------------------------------------------------------------------------


@rule("cat", "concat", "concatenate")
def cat(g, out, tensors, dim=0):
    # A one-dimensional empty tensor joins with anything, by an old promise of PyTorch.
    tensors = [x for x in tensors if x.shape != (0,) or len(out.shape) == 1]
    tensors = [g.convert(x, out.dtype) for x in tensors]
    return g.concatenate(tensors, dim_of(dim, len(out.shape))) if tensors else g.constant(
        0, out.dtype, out.shape)


@rule("stack")
def stack(g, out, tensors, dim=0):
    dim = dim_of(dim, len(out.shape))
    shape = out.shape[:dim] + (1,) + out.shape[dim + 1:]
    return g.concatenate([g.reshape(g.convert(x, out.dtype), shape) for x in tensors], dim)


@rule("repeat")
def repeat(g, out, x, repeats):
    """Each dim is broadcast over a new one before it, and both are merged."""
    shape = (1,) * (len(repeats) - x.rank) + x.shape
    wide = [size for pair in zip(repeats, shape) for size in pair]
    return g.reshape(
        g.broadcast_in_dim(g.reshape(x, shape), range(1, 2 * len(shape), 2), wide), out.shape)


@rule("repeat_interleave.self_int")
def repeat_interleave(g, out, x, repeats, dim=None, output_size=None):
    if dim is None:
        x, dim = g.reshape(x, (prod(x.shape),)), 0
    dim = dim_of(dim, x.rank)
    wide = x.shape[:dim + 1] + (repeats,) + x.shape[dim + 1:]
    kept = [position for position in range(len(wide)) if position != dim + 1]
    return g.reshape(g.broadcast_in_dim(x, kept, wide), out.shape)


# ---- Padding --------------------------------------------------------------------------------------


@rule("constant_pad_nd", "pad")
def constant_pad(g, out, x, pad, mode="constant", value=None):
    if not isinstance(mode, str):
        mode, value = "constant", mode
    if mode != "constant":
        raise Unsupported(f"padding of mode {mode}")
    low, high = [0] * x.rank, [0] * x.rank
    for position in range(len(pad) // 2):
        low[-1 - position], high[-1 - position] = pad[2 * position], pad[2 * position + 1]
    return g.pad(x, g.constant(value or 0, x.dtype), low, high)


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


# ---- Writing into a part --------------------------------------------------------------------------


@rule("slice_scatter")
def slice_scatter(g, out, x, source, dim=0, start=None, end=None, step=1):
    dim = dim_of(dim, x.rank)
    start, end = _bounds(x.shape[dim], start, end)
    source = g.convert(source, out.dtype)
    count = source.shape[dim]
    if count == 0:
        return x
    if step == 1:
        return g.concatenate(
            [part for part in (g.slice_dim(x, dim, 0, start), source,
                               g.slice_dim(x, dim, end, x.shape[dim])) if part.shape[dim]], dim)
    low, high, interior = ([0] * x.rank for _ in range(3))
    low[dim], interior[dim] = start, step - 1
    high[dim] = x.shape[dim] - start - (count - 1) * step - 1
    placed = g.pad(source, g.constant(0, out.dtype), low, high, interior)
    ones = g.constant(True, "bool", (count,))
    mask = g.pad(ones, g.constant(False, "bool"), low[dim:dim + 1], high[dim:dim + 1], [step - 1])
    return g.select(g.broadcast_in_dim(mask, [dim], x.shape), placed, x)


@rule("select_scatter")
def select_scatter(g, out, x, source, dim, index):
    dim = dim_of(dim, x.rank)
    index = dim_of(index, x.shape[dim])
    shape = x.shape[:dim] + (1,) + x.shape[dim + 1:]
    return slice_scatter(g, out, x, g.reshape(source, shape), dim, index, index + 1)


def _triangle(direction):
    def emit(g, out, x, diagonal=0):
        matrix = x.shape[-2:]
        column = g.iota(1, "i64", matrix)
        row = g.with_scalar("add", g.iota(0, "i64", matrix), diagonal)
        kept = g.compare(direction, column, row)
        return g.select(kept, x, g.constant(0, x.dtype))

    return emit


rule("tril")(_triangle("LE"))
rule("triu")(_triangle("GE"))


@rule("pixel_shuffle")
def pixel_shuffle(g, out, x, upscale_factor):
    r, (channels, height, width) = upscale_factor, x.shape[-3:]
    lead = x.shape[:-3]
    n = len(lead)
    x = g.reshape(x, (*lead, channels // (r * r), r, r, height, width))
    x = g.transpose(x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return g.reshape(x, out.shape)


@rule("pixel_unshuffle")
def pixel_unshuffle(g, out, x, downscale_factor):
    r, (channels, height, width) = downscale_factor, x.shape[-3:]
    lead = x.shape[:-3]
    n = len(lead)
    x = g.reshape(x, (*lead, channels, height // r, r, width // r, r))
    x = g.transpose(x, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return g.reshape(x, out.shape)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(g, out, x, groups):
    grouped = g.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return g.reshape(
        g.transpose(grouped, [0, 2, 1, *range(3, grouped.rank)]), out.shape)


@rule("diag_embed")
def diag_embed(g, out, x, offset=0, dim1=-2, dim2=-1):
    rank = len(out.shape)
    dim1, dim2 = dim_of(dim1, rank), dim_of(dim2, rank)
    if (dim1, dim2) != (rank - 2, rank - 1):
        raise Unsupported("a diagonal that is not of the last two dims")
    size = out.shape[-1]
    low, high = max(0, -offset), max(0, offset)
    rows = g.pad(x, g.constant(0, x.dtype), [0] * (x.rank - 1) + [low],
                 [0] * (x.rank - 1) + [high])
    spread = g.broadcast_in_dim(rows, [*range(x.rank - 1), rank - 2], out.shape)
    matrix = (size, size)
    row = g.with_scalar("add", g.iota(0, "i64", matrix), offset)
    return g.select(
        g.compare("EQ", g.iota(1, "i64", matrix), row), spread, g.constant(0, x.dtype))
