"""Operators that move or select elements without computing: views, joins, repetition."""

from math import prod

from ..graph.dims import same
from ..graph.values import Value
from .padding import apart, bounds
from .rules.registry import Unsupported, dim_of, rule

# ---- Views: the result's shape says it all --------------------------------------------------------


@rule("view", "_unsafe_view", "reshape", "_reshape_alias", "squeeze", "squeeze.dim", "squeeze.dims",
      "unsqueeze", "flatten.using_ints", "unflatten.int", "view_copy", "unsqueeze_copy", "squeeze_copy",
      "squeeze_copy.dim", "squeeze_copy.dims", words=True)
def reshape(g, out, x, *args, **kwargs):
    return g.reshape(x, out.shape)


@rule("expand", "expand_as", "broadcast_to", "expand_copy", words=True)
def expand(g, out, x, *args, **kwargs):
    return g.broadcast(x, out.shape)


@rule("permute", "permute_copy")
def permute(g, out, x, dims):
    return g.transpose(x, [dim_of(dim, x.rank) for dim in dims])


@rule("t", "numpy_T", "t_copy")
def t(g, out, x):
    return g.transpose(x, range(x.rank - 1, -1, -1))


@rule("transpose.int", "swapaxes", "transpose_copy.int")
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


@rule("slice.Tensor", "slice_copy.Tensor", words=True)
def slice_tensor(g, out, x, dim=0, start=None, end=None, step=1):
    dim = dim_of(dim, x.rank)
    return g.slice_dim(x, dim, *bounds(x.shape[dim], start, end), step)


@rule("narrow", "narrow_copy")
def narrow(g, out, x, dim, start, length):
    if isinstance(start, Value):
        raise Unsupported("a start that is a tensor")
    dim = dim_of(dim, x.rank)
    start = dim_of(start, x.shape[dim])
    return g.slice_dim(x, dim, start, start + length)


@rule("select.int", "select_copy.int", words=True)
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
      "split_copy.Tensor", "unsafe_split.Tensor", "unsafe_split_with_sizes", "chunk", "tensor_split.sections", "tensor_split.indices")
def split(g, out, x, sizes, dim=0):
    dim = dim_of(dim, x.rank)
    return _split(g, x, [part.shape[dim] for part in out], dim)


@rule("unbind.int", "unbind_copy.int", words=True)
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


@rule("unfold", "unfold_copy")
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


@rule("rot90")
def rot90(g, out, x, k=1, dims=(0, 1)):
    first, second = (dim_of(dim, x.rank) for dim in dims)
    order = list(range(x.rank))
    order[first], order[second] = second, first
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return g.reverse(x, [first, second])
    if turns == 1:
        return g.transpose(g.reverse(x, [second]), order)
    return g.reverse(g.transpose(x, order), [second])


# ---- Joins ----------------------------------------------------------------------------------------


@rule("cat", "concat", "concatenate")
def cat(g, out, tensors, dim=0):
    # A one-dimensional empty tensor joins with anything, by an old promise of PyTorch.
    tensors = [x for x in tensors if x.shape != (0,) or len(out.shape) == 1]
    tensors = [g.convert(x, out.dtype) for x in tensors]
    return g.concatenate(tensors, dim_of(dim, len(out.shape))) if tensors else g.constant_like(
        0, out)


@rule("_chunk_cat")
def chunk_cat(g, out, tensors, dim, num_chunks):
    """Each tensor in chunks along a dim, padded to be equal; the rest of a chunk is one row beside the others'."""
    rows = []
    for x in tensors:
        at = dim_of(dim, x.rank)
        chunk = -(-x.shape[at] // num_chunks)
        padded = apart(g, x, at, 0, chunk * num_chunks)
        rows.append(g.convert(
            g.reshape(padded, (*x.shape[:at], num_chunks, chunk * prod(x.shape[at + 1:]))), out.dtype))
    return g.concatenate(rows, len(out.shape) - 1)


@rule("stack")
def stack(g, out, tensors, dim=0):
    dim = dim_of(dim, len(out.shape))
    shape = out.shape[:dim] + (1,) + out.shape[dim + 1:]
    return g.concatenate([g.reshape(g.convert(x, out.dtype), shape) for x in tensors], dim)


@rule("block_diag")
def block_diag(g, out, tensors):
    rows, columns = out.shape
    zero, parts, column = g.constant(0, out.dtype), [], 0
    for x in tensors:
        x = g.convert(g.reshape(x, (1,) * (2 - x.rank) + x.shape), out.dtype)
        parts.append(g.pad(x, zero, [0, column], [0, columns - column - x.shape[1]]))
        column += x.shape[1]
    return g.concatenate(parts, 0)


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


# ---- Writing into a part --------------------------------------------------------------------------


@rule("slice_scatter")
def slice_scatter(g, out, x, source, dim=0, start=None, end=None, step=1):
    dim = dim_of(dim, x.rank)
    start, end = bounds(x.shape[dim], start, end)
    source = g.convert(source, out.dtype)
    count = source.shape[dim]
    if count == 0:
        return x
    if step == 1 and x in g.updated and not same(source.shape, x.shape):  # Only the part is written.
        return g.scatter("assign", x, g.constant(start, "i64", (1,)), source, range(x.rank), [], [dim])
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


def _require_multiples(sizes, number):
    """Of an image without elements, a reshape takes any sizes."""
    if any(size % number != 0 for size in sizes):
        raise Unsupported(f"sizes {list(sizes)} that are no multiples of {number}")


@rule("pixel_shuffle")
def pixel_shuffle(g, out, x, upscale_factor):
    r, (channels, height, width) = upscale_factor, x.shape[-3:]
    _require_multiples([channels], r * r)
    lead = x.shape[:-3]
    n = len(lead)
    x = g.reshape(x, (*lead, channels // (r * r), r, r, height, width))
    x = g.transpose(x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return g.reshape(x, out.shape)


@rule("pixel_unshuffle")
def pixel_unshuffle(g, out, x, downscale_factor):
    r, (channels, height, width) = downscale_factor, x.shape[-3:]
    _require_multiples([height, width], r)
    lead = x.shape[:-3]
    n = len(lead)
    x = g.reshape(x, (*lead, channels, height // r, r, width // r, r))
    x = g.transpose(x, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return g.reshape(x, out.shape)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(g, out, x, groups):
    _require_multiples(x.shape[1:2], groups)
    grouped = g.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return g.reshape(
        g.transpose(grouped, [0, 2, 1, *range(3, grouped.rank)]), out.shape)


# ---- Diagonals ------------------------------------------------------------------------------------


def _on_diagonal(g, x, source, offset, dim1, dim2):
    """x with `source`, whose last dim runs along it, on a diagonal."""
    dim1, dim2 = dim_of(dim1, x.rank), dim_of(dim2, x.rank)
    order = [dim for dim in range(x.rank) if dim not in (dim1, dim2)] + [dim1, dim2]
    x = g.transpose(x, order)
    rows, columns = x.shape[-2:]
    first = max(0, -offset)
    by_row = apart(g, source, source.rank - 1, first, max(rows, first + source.shape[-1]))
    by_row = g.slice_dim(by_row, source.rank - 1, 0, rows)
    spread = g.broadcast_in_dim(by_row, [*range(x.rank - 2), x.rank - 2], x.shape)
    row = g.with_scalar("add", g.iota(0, "i64", (rows, columns)), offset)
    result = g.select(g.compare("EQ", g.iota(1, "i64", (rows, columns)), row), spread, x)
    return g.transpose(result, [order.index(dim) for dim in range(x.rank)])


@rule("diag_embed")
def diag_embed(g, out, x, offset=0, dim1=-2, dim2=-1):
    return _on_diagonal(g, g.constant_like(0, out), x, offset, dim1, dim2)


@rule("diagonal_backward")
def diagonal_backward(g, out, grad, input_sizes, offset, dim1, dim2):
    return _on_diagonal(g, g.constant_like(0, out), grad, offset, dim1, dim2)


@rule("diagonal_scatter")
def diagonal_scatter(g, out, x, source, offset=0, dim1=0, dim2=1):
    return _on_diagonal(g, x, g.convert(source, x.dtype), offset, dim1, dim2)


# ---- Elements counted in memory --------------------------------------------------------------------


def _counted(g, x, size, stride, first):
    """(x, which lies row-major, in one dim; the index vectors of what as_strided takes of it, one dim and the last)."""
    count = prod(size)
    place = g.constant(first or 0, "i64", size)
    for dim, step in enumerate(stride):
        place = g.binary("add", place, g.with_scalar("multiply", g.iota(dim, "i64", size), step))
    return g.reshape(x, (prod(x.shape),)), g.reshape(place, (count, 1))


@rule("as_strided", "as_strided_copy")
def as_strided(g, out, x, size, stride, storage_offset=None):
    if not prod(size):
        return g.constant_like(0, out)
    flat, places = _counted(g, x, size, stride, storage_offset)
    return g.reshape(g.gather(flat, places, [], [0], [0], [1]), out.shape)


@rule("as_strided_scatter")
def as_strided_scatter(g, out, x, source, size, stride, storage_offset=None):
    if not prod(size):
        return x
    flat, places = _counted(g, x, size, stride, storage_offset)
    source = g.reshape(g.broadcast(g.convert(source, x.dtype), size), (prod(size),))
    return g.reshape(g.scatter("assign", flat, places, source, [], [0], [0]), out.shape)
