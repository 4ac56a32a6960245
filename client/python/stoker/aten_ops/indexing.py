"""Reading and writing at places that are data. Indices out of bounds are clamped when read and skipped
when written; then a segment's IndexCheck raises, with what eager PyTorch says."""

from math import prod

from ..graph_text import broadcast_shapes
from .registry import Unsupported, as_value, compute_dtype, dim_of, rule


@rule("embedding")
def embedding(g, out, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return _within(g, _rows(g, weight, indices), indices, 0, weight.shape, _IN_SELF)


_PLACE = "index {{index}} is out of bounds for dimension {dim} with size {size}"
_IN_SELF = "index out of range in self: " + _PLACE
_COPIED = "index_copy_(): " + _PLACE


def _within(g, result, indices, dim, shape, message=_PLACE, from_end=False):
    """`result`, of indices along a dim of what has this shape; they may count from its end."""
    size = shape[dim]
    if not size and prod(indices.shape):
        raise Unsupported("an index into nothing")
    return g.checked(
        result, indices, -size if from_end else 0, size, message.format(dim=dim, size=size))


def _rows(g, x, indices):
    """x[indices] for indices known not to be negative."""
    column = g.reshape(indices, (*indices.shape, 1))
    offsets = range(indices.rank, indices.rank + x.rank - 1)
    return g.gather(x, column, offsets, [0], [0], [1, *x.shape[1:]])


def _wrapped(g, index, size):
    """Negative indices count from the end."""
    negative = g.compare("LT", index, g.constant(0, index.dtype))
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
            g.reshape(g.broadcast(_wrapped(g, g.convert(index, "i64"), x.shape[dim]), self.shape),
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


@rule("index_put", "_unsafe_index_put")
def index_put(g, out, x, indices, values, accumulate=False):
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool":
        mask = indices[0]
        if prod(values.shape) == 1 and not accumulate:
            mask = g.reshape(mask, mask.shape + (1,) * (x.rank - mask.rank))
            return g.select(mask, g.reshape(values, ()), x)
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


def _scattered(g, kind, x, vectors, updates, windows, dims):
    """Narrow floats accumulate in f32."""
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


@rule("gather")
def gather(g, out, x, dim, index, sparse_grad=False):
    if not x.rank or not index.rank:
        return g.reshape(g.broadcast(g.reshape(x, (1,)), (prod(index.shape),)), out.shape)
    dim = dim_of(dim, x.rank)
    every = list(range(x.rank))
    result = g.gather(x, _element_vectors(g, index, dim), [], every, every, [1] * x.rank)
    return _within(g, result, index, dim, x.shape)


def _scatter_along(g, kind, x, dim, index, source):
    if not x.rank or not index.rank:
        raise Unsupported("a scatter into a scalar")
    source = as_value(g, source, x.dtype)
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


@rule("scatter_reduce.two")
def scatter_reduce(g, out, x, dim, index, source, reduce, include_self=True):
    if reduce not in _REDUCES or not include_self:
        raise Unsupported(f"scatter_reduce {reduce} with include_self={include_self}")
    return _scatter_along(g, _REDUCES[reduce], x, dim, index, source)


# ---- Whole slices along one dim -------------------------------------------------------------------


def _slices_along(g, kind, x, dim, index, source, alpha=1, message=_PLACE, from_end=False):
    if not x.rank:
        raise Unsupported("an index into a scalar")
    dim = dim_of(dim, x.rank)
    vectors = g.reshape(_wrapped(g, g.convert(index, "i64"), x.shape[dim]), (prod(index.shape), 1))
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
        g, "assign", x, dim, index, as_value(g, value, x.dtype), from_end=True)


@rule("embedding_dense_backward")
def embedding_dense_backward(g, out, grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise Unsupported("gradients scaled by frequency")
    width = grad.shape[indices.rank:]
    count = prod(indices.shape)
    rows = g.reshape(grad, (count, *width))
    flat = g.reshape(g.convert(indices, "i64"), (count,))
    if padding_idx >= 0:
        padded = g.compare("EQ", flat, g.constant(padding_idx, "i64"))
        rows = g.select(
            g.reshape(padded, (count,) + (1,) * len(width)), g.constant(0, rows.dtype), rows)
    zeros = g.constant(0, out.dtype, out.shape)
    windows = list(range(1, 1 + len(width)))
    return _scattered(
        g, "add", zeros, g.reshape(flat, (count, 1)), rows, windows, [0])


# ---- Searching ------------------------------------------------------------------------------------


@rule("isin.Tensor_Tensor", "isin.Tensor_Scalar")
def isin(g, out, x, values, assume_unique=False, invert=False):
    dtype = x.dtype
    values = as_value(g, values, dtype)
    count = prod(values.shape)
    values = g.reshape(values, (count,))
    equal = g.compare("EQ", g.reshape(x, (*x.shape, 1)), values)
    found = g.reduce("or", equal, [x.rank])
    return g.unary("not", found) if invert else found
