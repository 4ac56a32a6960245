"""Reading and writing at places that are data. Indices out of bounds are clamped when read and skipped
when written; then a segment's IndexCheck raises, with what eager PyTorch says."""

from math import prod

from ..graph.values import broadcast_shapes
from .reductions import identity_of, norm_of, shortening
from .rules.registry import FLOATS, Unsupported, as_value, compute_dtype, dim_of, number_of, rule


@rule("embedding")
def embedding(g, out, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return _within(g, _rows(g, weight, indices), indices, 0, weight.shape, _IN_SELF)


_PLACE = "index {{index}} is out of bounds for dimension {dim} with size {{size}}"
_IN_SELF = "index out of range in self: " + _PLACE
_COPIED = "index_copy_(): " + _PLACE


def _within(g, result, indices, dim, shape, message=_PLACE, from_end=False):
    """`result`, of indices along a dim of what has this shape; they may count from its end."""
    size = shape[dim]
    if not size and prod(indices.shape):
        raise Unsupported("an index into nothing")
    return g.checked(
        result, indices, -size if from_end else 0, size, message.format(dim=dim))


def _rows(g, x, indices):
    """x[indices] for indices known not to be negative."""
    column = g.reshape(indices, (*indices.shape, 1))
    offsets = range(indices.rank, indices.rank + x.rank - 1)
    return g.gather(x, column, offsets, [0], [0], [1, *x.shape[1:]])


def _wrapped(g, index, size):
    """Negative indices count from the end. PyTorch's kernels refuse floats, which a trace may take."""
    if index.dtype in FLOATS:
        raise Unsupported(f"indices of type {index.dtype}")
    index = g.convert(index, "i64")
    negative = g.compare_with("LT", index, 0)
    return g.select(negative, g.with_scalar("add", index, size), index)


@rule("index_select")
def index_select(g, out, x, dim, index):
    if not x.rank:
        return x
    dim = dim_of(dim, x.rank)
    column = g.reshape(index, (prod(index.shape), 1))
    offsets = [position for position in range(x.rank) if position != dim]
    slices = [1 if position == dim else size for position, size in enumerate(x.shape)]
    result = g.gather(x, column, offsets, [dim], [dim], slices)
    return _within(g, result, index, dim, x.shape, _IN_SELF)


class Places:
    """The indices of x[indices], some None, in the form that gather and scatter take."""

    def __init__(self, g, x, indices):
        if any(index is not None and index.dtype in ("bool", "u8") for index in indices):
            raise Unsupported("boolean indices, whose result has a shape that depends on the data")
        given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
        self.given, self.indexed = given, x.shape
        self.dims = [dim for dim, _ in given]
        self.shape = broadcast_shapes(*(index.shape for _, index in given))
        columns = [
            g.reshape(g.broadcast(_wrapped(g, index, x.shape[dim]), self.shape),
                      (*self.shape, 1))
            for dim, index in given]
        self.vectors = g.concatenate(columns, len(self.shape))
        # Neighbouring indices put their dims where they stand, others in front.
        together = self.dims == list(range(self.dims[0], self.dims[-1] + 1))
        first = self.dims[0] if together else 0
        kept = [dim for dim in range(x.rank) if dim not in self.dims]
        self.windows = [
            place if place < first else place + len(self.shape) for place in range(len(kept))]
        self.slices = [1 if dim in self.dims else size for dim, size in enumerate(x.shape)]

    def within(self, g, result):
        for dim, index in self.given:
            _within(g, result, index, dim, self.indexed, from_end=True)
        return result


@rule("index.Tensor", "_unsafe_index.Tensor")
def index(g, out, x, indices):
    if all(index is None for index in indices):
        return x
    places = Places(g, x, indices)
    result = g.gather(
        x, places.vectors, places.windows, places.dims, places.dims, places.slices)
    return places.within(g, result)


def _put_by_mask(g, x, mask, values, accumulate):
    """x[mask] = values, or += values, where every place gets the same ones."""
    inner = x.rank - mask.rank
    outer, own = values.shape[:max(0, values.rank - inner)], values.shape[max(0, values.rank - inner):]
    if prod(outer) != 1:
        raise Unsupported("a value for each place that a mask chooses")
    mask = g.reshape(mask, mask.shape + (1,) * inner)
    values = g.broadcast(g.convert(g.reshape(values, own), x.dtype), x.shape)
    return g.select(mask, g.binary("add", x, values) if accumulate else values, x)


@rule("index_put", "_unsafe_index_put")
def index_put(g, out, x, indices, values, accumulate=False):
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool":
        return _put_by_mask(g, x, indices[0], values, accumulate)
    places = Places(g, x, indices)
    kept = iter(size for dim, size in enumerate(x.shape) if dim not in places.dims)
    batch = iter(places.shape)
    rank = len(places.shape) + len(places.windows)
    shape = tuple(
        next(kept) if position in places.windows else next(batch) for position in range(rank))
    updates = g.broadcast(g.convert(values, x.dtype), shape)
    result = _scattered(
        g, "add" if accumulate else "assign", x, places.vectors, updates, places.windows,
        places.dims)
    return places.within(g, result)


_OF_BOOL = {"add": "maximum", "multiply": "minimum"}


def _scattered(g, kind, x, vectors, updates, windows, dims):
    """Narrow floats accumulate in f32; of bool, sums are "or" and products "and"."""
    if x.dtype == "bool" and kind != "assign":
        x, updates = (g.convert(value, "u8") for value in (x, updates))
        return g.convert(_scattered(g, _OF_BOOL.get(kind, kind), x, vectors, updates, windows, dims), "bool")
    dtype = compute_dtype(x.dtype) if kind != "assign" else x.dtype
    result = g.scatter(
        kind, g.convert(x, dtype), vectors, g.convert(updates, dtype), windows, dims, dims)
    return g.convert(result, x.dtype)


# ---- Along one dim, element by element ------------------------------------------------------------


def _element_vectors(g, index, dim):
    """Index vectors [..., rank] of the elements (i, ..., index[i, ...], ...)."""
    index = g.convert(index, "i64")
    columns = [
        g.reshape(index if position == dim else g.iota(position, "i64", index.shape),
                  (*index.shape, 1))
        for position in range(index.rank)]
    return g.concatenate(columns, index.rank)


def taken_at(g, x, dim, places):
    """x at these places, numbers within it, along a dim."""
    steps = {after - before for before, after in zip(places, places[1:])} or {1}
    if len(steps) == 1 and min(steps) > 0:
        return g.slice_dim(x, dim, places[0], places[-1] + 1, min(steps))
    vectors = g.reshape(g.vector(places, "i64"), (len(places), 1))
    offsets = [d for d in range(x.rank) if d != dim]
    slices = [1 if d == dim else size for d, size in enumerate(x.shape)]
    return g.gather(x, vectors, offsets, [dim], [dim], slices)


def taken_along(g, x, dim, index):
    """x[..., index[i, ...], ...] along a dim, of indices known to be within it."""
    every = list(range(x.rank))
    return g.gather(x, _element_vectors(g, index, dim), [], every, every, [1] * x.rank)


@rule("gather")
def gather(g, out, x, dim, index, sparse_grad=False):
    if not prod(index.shape):  # It may have other dims than what is read.
        return g.constant_like(0, out)
    if not x.rank or not index.rank:
        return g.reshape(g.broadcast(g.reshape(x, (1,)), (prod(index.shape),)), out.shape)
    dim = dim_of(dim, x.rank)
    return _within(g, taken_along(g, x, dim, index), index, dim, x.shape)


def _scatter_along(g, kind, x, dim, index, source):
    source = as_value(g, source, x.dtype)
    if not x.rank or not index.rank:
        # A scalar has one dim to speak of.
        shape = x.shape
        x, index = (g.reshape(y, y.shape or (1,)) for y in (x, index))
        source = g.reshape(source, (prod(source.shape),))
        return g.reshape(_scatter_along(g, kind, x, 0, index, source), shape)
    if not prod(index.shape):
        return x
    if source.rank:
        source = g.slice(source, [0] * source.rank, index.shape)
    updates = g.broadcast(source, index.shape)
    every = list(range(x.rank))
    dim = dim_of(dim, x.rank)
    result = _scattered(g, kind, x, _element_vectors(g, index, dim), updates, [], every)
    return _within(g, result, index, dim, x.shape)


@rule("scatter.src", "scatter.value")
def scatter(g, out, x, dim, index, source):
    return _scatter_along(g, "assign", x, dim, index, source)


@rule("scatter_add")
def scatter_add(g, out, x, dim, index, source):
    return _scatter_along(g, "add", x, dim, index, source)


_REDUCES = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply",
            "amax": "maximum", "amin": "minimum"}


@rule("scatter.reduce", "scatter.value_reduce")
def scatter_with(g, out, x, dim, index, source, reduce):
    return _scatter_along(g, _REDUCES[reduce], x, dim, index, source)


def _reduced_into(g, put, x, source, reduce, include_self):
    """put(kind, into, values) with what "prod" or "mean" says, perhaps without what x holds where something is put."""
    wide = g.convert(x, compute_dtype(x.dtype))
    source = g.convert(source, wide.dtype)
    if reduce == "mean" and not x.is_float:
        raise Unsupported("means of integers")
    kind = _REDUCES["sum" if reduce == "mean" else reduce]
    if not include_self:
        if x.dtype == "bool":
            raise Unsupported("bool without what was there")
        wide = put("assign", wide, g.constant(identity_of(kind, wide.dtype), wide.dtype, source.shape))
    result = put(kind, wide, source)
    if reduce == "mean":
        counts = put("add", g.constant(int(include_self), wide.dtype, x.shape),
                     g.constant(1, wide.dtype, source.shape))
        result = g.binary("divide", result, g.with_scalar("maximum", counts, 1))
    return g.convert(result, x.dtype)


@rule("scatter_reduce.two")
def scatter_reduce(g, out, x, dim, index, source, reduce, include_self=True):
    def put(kind, into, values):
        return _scatter_along(g, kind, into, dim, index, values)

    return _reduced_into(g, put, x, source, reduce, include_self)


# ---- Whole slices along one dim -------------------------------------------------------------------


def _slices_along(g, kind, x, dim, index, source, alpha=1, message=_PLACE, from_end=False):
    if not x.rank:
        source = as_value(g, source, x.dtype)
        source = g.reshape(source, source.shape or (1,)) if prod(source.shape) == prod(index.shape) else source
        return g.reshape(_slices_along(
            g, kind, g.reshape(x, (1,)), 0, index, source, alpha, message, from_end), ())
    if not prod(index.shape):
        return x
    dim = dim_of(dim, x.rank)
    vectors = g.reshape(_wrapped(g, index, x.shape[dim]), (prod(index.shape), 1))
    windows = [position for position in range(x.rank) if position != dim]
    shape = tuple(
        vectors.shape[0] if position == dim else size for position, size in enumerate(x.shape))
    source = as_value(g, source, x.dtype)
    if alpha != 1:
        source = g.with_scalar("multiply", source, alpha)
    result = _scattered(g, kind, x, vectors, g.broadcast(source, shape), windows, [dim])
    return _within(g, result, index, dim, x.shape, message, from_end)


@rule("index_add")
def index_add(g, out, x, dim, index, source, alpha=1):
    return _slices_along(g, "add", x, dim, index, source, alpha)


@rule("index_copy")
def index_copy(g, out, x, dim, index, source):
    return _slices_along(g, "assign", x, dim, index, source, message=_COPIED)


@rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(g, out, x, dim, index, value):
    return _slices_along(
        g, "assign", x, dim, index, number_of(g, value, x.dtype), from_end=True)


@rule("index_reduce")
def index_reduce(g, out, x, dim, index, source, reduce, include_self=True):
    def put(kind, into, values):
        return _slices_along(g, kind, into, dim, index, values)

    return _reduced_into(g, put, x, source, reduce, include_self)


@rule("embedding_dense_backward")
def embedding_dense_backward(g, out, grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    width = grad.shape[indices.rank:]
    count = prod(indices.shape)
    rows = g.reshape(grad, (count, *width))
    flat = g.reshape(g.convert(indices, "i64"), (count,))
    if padding_idx >= 0:
        padded = g.compare("EQ", flat, g.constant(padding_idx, "i64"))
        rows = g.select(
            g.reshape(padded, (count,) + (1,) * len(width)), g.constant(0, rows.dtype), rows)
    vectors = g.reshape(flat, (count, 1))
    zeros = g.constant_like(0, out)
    windows = list(range(1, 1 + len(width)))
    if scale_grad_by_freq:
        dtype = compute_dtype(rows.dtype)
        often = g.gather(_times_used(g, vectors, num_weights, dtype), vectors, [], [0], [0], [1])
        rows = g.binary("divide", g.convert(rows, dtype), g.reshape(often, (count,) + (1,) * len(width)))
        rows = g.convert(rows, out.dtype)
    return _scattered(g, "add", zeros, vectors, rows, windows, [0])


def _times_used(g, vectors, size, dtype):
    """How often each of `size` rows is in the index vectors."""
    ones = g.constant(1, dtype, vectors.shape[:1])
    return g.scatter("add", g.constant(0, dtype, (size,)), vectors, ones, [], [0], [0])


@rule("embedding_renorm")
def embedding_renorm(g, out, weight, indices, max_norm, norm_type):
    """The rows that are used are shortened to `max_norm`."""
    count = prod(indices.shape)
    if not count or not prod(weight.shape):
        return weight
    wide = g.convert(weight, compute_dtype(weight.dtype))
    vectors = g.reshape(g.convert(indices, "i64"), (count, 1))
    used = g.compare("GT", _times_used(g, vectors, weight.shape[0], "i64"), g.constant(0, "i64"))
    factor = shortening(g, norm_of(g, wide, norm_type, [1]), max_norm)
    factor = g.select(used, factor, g.constant(1, wide.dtype))
    scaled = g.binary("multiply", wide, g.reshape(factor, (weight.shape[0], 1)))
    return _within(g, g.convert(scaled, weight.dtype), indices, 0, weight.shape, _IN_SELF)


# ---- Flat places ----------------------------------------------------------------------------------


def _flat(g, x, index):
    """(x in one dim, the index vectors of its elements, a function of a result: it has `shape`, and the indices were
    checked)."""
    count = prod(x.shape)
    if not count:
        raise Unsupported("an index into nothing")
    vectors = g.reshape(_wrapped(g, index, count), (prod(index.shape), 1))

    def checked(result, shape):
        return g.checked(
            g.reshape(result, shape), index, -count, count,
            f"out of range: tried to access index {{index}} on a tensor of {{size}} elements.")

    return g.reshape(x, (count,)), vectors, checked


@rule("take")
def take(g, out, x, index):
    if not prod(index.shape):
        return g.constant_like(0, out)
    flat, vectors, checked = _flat(g, x, index)
    return checked(g.gather(flat, vectors, [], [0], [0], [1]), out.shape)


@rule("put")
def put(g, out, x, index, source, accumulate=False):
    if not prod(index.shape):
        return x
    flat, vectors, checked = _flat(g, x, index)
    source = g.reshape(g.convert(source, x.dtype), (prod(index.shape),))
    kind = "add" if accumulate else "assign"
    return checked(_scattered(g, kind, flat, vectors, source, [], [0]), out.shape)


# ---- Places that a mask chooses --------------------------------------------------------------------


def _ranks(g, mask):
    """For each element of a flattened mask, how many before it are true."""
    counted = g.convert(mask, "i64")
    return g.binary("subtract", g.cumulative("add", counted, 0), counted)


@rule("masked_scatter")
def masked_scatter(g, out, x, mask, source):
    count, given = prod(out.shape), prod(source.shape)
    if not count or not given:
        raise Unsupported("nothing to take, or nowhere to put it")
    mask = g.reshape(g.broadcast(mask, out.shape), (count,))
    place = _ranks(g, mask)
    taken = g.gather(
        g.reshape(source, (given,)), g.reshape(place, (count, 1)), [], [0], [0], [1])
    result = g.select(mask, taken, g.reshape(g.broadcast(x, out.shape), (count,)))
    needed = g.select(mask, place, g.constant(0, "i64"))
    return g.checked(
        g.reshape(result, out.shape), needed, 0, given,
        "Number of elements of source < number of ones in mask")


@rule("masked_scatter_backward")
def masked_scatter_backward(g, out, grad, mask, sizes):
    count, given = prod(grad.shape), prod(out.shape)
    if not count or not given:
        return g.constant_like(0, out)
    mask = g.reshape(g.broadcast(mask, grad.shape), (count,))
    # What is out of bounds is skipped.
    place = g.select(mask, _ranks(g, mask), g.constant(given, "i64"))
    zeros = g.constant(0, out.dtype, (given,))
    result = g.scatter(
        "assign", zeros, g.reshape(place, (count, 1)), g.reshape(grad, (count,)), [], [0], [0])
    return g.reshape(result, out.shape)


@rule("nonzero_static")
def nonzero_static(g, out, x, size, fill_value=-1):
    count = prod(x.shape)
    if 0 in out.shape or not count:
        return g.constant_like(fill_value, out)
    mask = g.reshape(g.convert(x, "bool"), (count,))
    # What is out of bounds is skipped.
    place = g.select(mask, _ranks(g, mask), g.constant(size, "i64"))
    columns = [g.reshape(g.iota(dim, "i64", x.shape), (count, 1)) for dim in range(x.rank)]
    filled = g.constant(fill_value, "i64", out.shape)
    return g.scatter(
        "assign", filled, g.reshape(place, (count, 1)), g.concatenate(columns, 1), [1], [0], [0])


def _clamped(g, indices, shape):
    return [
        None if index is None else g.with_scalar(
            "minimum", g.with_scalar("maximum", g.convert(index, "i64"), 0), shape[dim] - 1)
        for dim, index in enumerate(indices)]


@rule("_unsafe_masked_index")
def masked_index(g, out, x, mask, indices, fill):
    if not prod(x.shape) or all(index is None for index in indices):
        raise Unsupported("indices into nothing, or none")
    places = Places(g, x, _clamped(g, indices, x.shape))
    result = g.gather(x, places.vectors, places.windows, places.dims, places.dims, places.slices)
    return g.broadcast(g.select(mask, result, g.constant(fill, x.dtype)), out.shape)


@rule("_unsafe_masked_index_put_accumulate")
def masked_index_put(g, out, x, mask, indices, values):
    if not prod(x.shape) or not prod(mask.shape):
        return x
    if all(index is None for index in indices):
        raise Unsupported("no indices")
    kept = g.select(mask, g.convert(values, x.dtype), g.constant(0, x.dtype))
    return index_put(g, out, x, _clamped(g, indices, x.shape), kept, True)
