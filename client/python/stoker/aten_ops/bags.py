"""Rows of a table summed up, averaged or compared, bag by bag: which indices are of one bag, offsets say."""

import math
from math import prod

from .indexing import rows_of, scattered
from .rules.registry import Unsupported, compute_dtype, rule

_SUM, _MEAN, _MAX = range(3)
_FIRST = ("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
          "However, got {index}")
_LAST = "offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {{index}}"
_ORDER = "Expected i < index_size to be true, but got false."
_RANGE = "Index of input takes value {index} which is not in the valid range [0, {size})"


def _bags_of(g, offsets, count):
    """For each of so many indices the bag that it is of."""
    starts = g.scatter(
        "add", g.constant(0, "i64", (count,)), g.reshape(offsets, (*offsets.shape, 1)),
        g.constant(1, "i64", offsets.shape), [], [0], [0])
    return g.with_scalar("subtract", g.cumulative("add", starts, 0), 1)


def _column(g, x):
    return g.reshape(x, (*x.shape, 1))


def _put(g, kind, identity, shape, bags, updates):
    """What is of no bag, -1, is left out."""
    into = g.constant(identity, updates.dtype, shape)
    return g.scatter(kind, into, _column(g, bags), updates, list(range(1, len(shape))), [0], [0])


def _without(g, bags, where):
    return g.select(where, g.constant(-1, "i64"), bags)


class _Bags:
    def __init__(self, g, weight, indices, offsets, include_last_offset, padding_idx):
        self.g, self.offsets, self.weight = g, g.convert(offsets, "i64"), weight
        self.indices = g.convert(indices, "i64")
        self.count = indices.shape[0]
        starts = offsets.shape[0] - include_last_offset
        if not weight.is_float or not prod(weight.shape) or not self.count or starts < 1:
            raise Unsupported("bags of nothing, or of whole numbers")
        self.shape = (starts, weight.shape[1])
        self.all = _bags_of(g, g.slice_dim(self.offsets, 0, 0, starts), self.count)
        self.padded = padding_idx >= 0
        self.bags = self.all
        if self.padded:
            self.bags = _without(g, self.all, self.is_padding(padding_idx))
        self.rows = g.convert(rows_of(g, weight, self.indices), compute_dtype(weight.dtype))

    def is_padding(self, padding_idx):
        return self.g.compare("EQ", self.indices, self.g.constant(padding_idx, "i64"))

    def checked(self, result, mode):
        g, last = self.g, self.offsets.shape[0] - 1
        first = g.slice_dim(self.offsets, 0, 0, 1)
        result = g.checked(result, first, 0, 1, _FIRST)
        result = g.checked(
            result, g.slice_dim(self.offsets, 0, last, last + 1), -1 << 62, self.count + 1, _LAST.format(length=self.count))
        if mode != _MAX and last:
            steps = g.binary("subtract", g.slice_dim(self.offsets, 0, 1, last + 1), g.slice_dim(self.offsets, 0, 0, last))
            result = g.checked(result, steps, 0, 1 << 62, _ORDER)
        return g.checked(result, self.indices, 0, self.weight.shape[0], _RANGE)

    def sizes(self):
        return _put(self.g, "add", 0, self.shape[:1], self.bags, self.g.constant(1, "i64", (self.count,)))

    def total(self, weights, include_last_offset):
        g, rows, bags = self.g, self.rows, self.bags
        if weights is not None:
            rows = g.binary("multiply", rows, _column(g, g.convert(weights, rows.dtype)))
        if include_last_offset and not self.padded and rows.dtype == "f32":  # Others count what is behind the last bag.
            last = self.offsets.shape[0] - 1
            end = g.slice_dim(self.offsets, 0, last, last + 1)
            bags = _without(g, bags, g.compare("GE", g.iota(0, "i64", (self.count,)), end))
        return _put(g, "add", 0, self.shape, bags, rows)

    def largest(self):
        """(the largest, the indices that gave them): NaN is seen only where it comes first."""
        g, rows = self.g, self.rows
        place = g.iota(0, "i64", (self.count,))
        first = _put(g, "minimum", self.count, self.shape[:1], self.bags, place)
        known = g.select(g.predicate("is_nan", rows), g.constant(-math.inf, rows.dtype), rows)
        most = _put(g, "maximum", -math.inf, self.shape, self.bags, known)
        start = rows_of(g, rows, first)
        most = g.select(g.predicate("is_nan", start), start, most)
        empty = g.broadcast(_column(g, g.compare("EQ", first, g.constant(self.count, "i64"))), self.shape)

        def chosen():
            own = rows_of(g, most, self.bags)
            both = g.binary("and", g.predicate("is_nan", own), g.broadcast(
                _column(g, g.compare("EQ", place, rows_of(g, first, self.bags))), rows.shape))
            hit = g.binary("or", both, g.compare("EQ", own, rows))
            there = g.select(hit, _column(g, place), g.constant(self.count, "i64"))
            there = _put(g, "minimum", self.count, self.shape, self.bags, there)
            return g.select(empty, g.constant(0, "i64"), rows_of(g, self.indices, there))

        return g.select(empty, g.constant(0, rows.dtype), most), chosen


@rule("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(g, out, weight, indices, offsets, scale_grad_by_freq=False, mode=_SUM, sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=-1):
    bags = _Bags(g, weight, indices, offsets, include_last_offset, padding_idx)
    result, of_bags, sizes, largest = out
    chosen = None
    if mode == _MAX:
        value, chosen = bags.largest()
    else:
        value = bags.total(per_sample_weights, include_last_offset)
    if mode == _MEAN:
        counts = g.convert(g.with_scalar("maximum", bags.sizes(), 1), value.dtype)
        value = g.binary("divide", value, _column(g, counts))

    def counted(type_):
        if mode == _SUM:
            return g.constant(0, *type_)
        return g.convert(bags.sizes(), type_.dtype)

    return (
        bags.checked(g.convert(value, result.dtype), mode),
        lambda: g.convert(bags.all, of_bags.dtype) if prod(of_bags.shape) else g.constant(0, *of_bags),
        lambda: counted(sizes),
        lambda: g.convert(chosen(), largest.dtype) if chosen else counted(largest))


def _shares(g, grad, bags, sizes, mode, weights):
    """What each index gets of the gradient of its bag."""
    rows = rows_of(g, grad, bags)
    if weights is not None:
        rows = g.binary("multiply", rows, _column(g, g.convert(weights, rows.dtype)))
    if mode == _MEAN:
        counts = g.convert(g.with_scalar("maximum", rows_of(g, g.convert(sizes, "i64"), bags), 1), rows.dtype)
        rows = g.binary("divide", rows, _column(g, counts))
    return rows


@rule("_embedding_bag_dense_backward")
def dense_backward(g, out, grad, indices, of_bags, sizes, largest, num_weights, scale_grad_by_freq, mode,
                   per_sample_weights=None, padding_idx=-1):
    if scale_grad_by_freq:
        raise Unsupported("how often indices are used, which some of PyTorch's kernels take of other indices")
    wide = g.convert(grad, compute_dtype(grad.dtype))
    if not prod(indices.shape) or not prod(grad.shape) or not prod(out.shape):
        return g.constant(0, out.dtype, out.shape)
    indices = g.convert(indices, "i64")
    zeros = g.constant(0, wide.dtype, out.shape)
    if mode == _MAX:
        taken = g.compare("GT", g.convert(sizes, "i64"), g.constant(0, "i64"))
        row = g.select(_column(g, taken), g.convert(largest, "i64"), g.constant(-1, "i64"))
        vectors = g.concatenate([g.reshape(part, (*part.shape, 1)) for part in (row, g.iota(1, "i64", row.shape))], 2)
        return g.convert(scattered(g, "add", zeros, vectors, wide, [], [0, 1]), out.dtype)
    bags = g.convert(of_bags, "i64")
    rows = _shares(g, wide, bags, sizes, mode, per_sample_weights)
    # What is behind the last bag is of none.
    indices = _without(g, indices, g.compare("GE", bags, g.constant(grad.shape[0], "i64")))
    if padding_idx >= 0:
        indices = _without(g, indices, g.compare("EQ", indices, g.constant(padding_idx, "i64")))
    return g.convert(scattered(g, "add", zeros, _column(g, indices), rows, [1], [0]), out.dtype)


def _known_bags(g, indices, offsets, of_bags):
    if prod(of_bags.shape) or not prod(indices.shape):
        return of_bags
    return _bags_of(g, g.convert(offsets, "i64"), indices.shape[0])


@rule("_embedding_bag_backward")
def backward(g, out, grad, indices, offsets, of_bags, sizes, largest, num_weights, scale_grad_by_freq, mode, sparse,
             per_sample_weights=None, padding_idx=-1):
    of_bags = _known_bags(g, indices, offsets, of_bags)
    return dense_backward(
        g, out, grad, indices, of_bags, sizes, largest, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)


@rule("_embedding_bag_per_sample_weights_backward")
def weights_backward(g, out, grad, weight, indices, offsets, of_bags, mode, padding_idx=-1):
    if not prod(indices.shape) or not prod(grad.shape):
        return g.constant(0, out.dtype, out.shape)
    dtype = compute_dtype(out.dtype)
    bags = g.convert(_known_bags(g, indices, offsets, of_bags), "i64")
    indices = g.convert(indices, "i64")
    parts = [g.convert(rows_of(g, x, at), dtype) for x, at in ((grad, bags), (weight, indices))]
    result = g.reduce("add", g.binary("multiply", *parts), [1])
    if padding_idx >= 0:
        padding = g.compare("EQ", indices, g.constant(padding_idx, "i64"))
        result = g.select(padding, g.constant(0, dtype), result)
    return g.convert(result, out.dtype)
