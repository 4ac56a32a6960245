"""Sorting and the largest k."""

from math import prod

from ..graph.text import NoKernel
from .indexing import taken_along
from .rules.registry import Unsupported, dim_of, rule


def _place_by_pytorch():
    """In place of places, of equal elements one of which PyTorch's kernel takes: the operator runs there where they are
    used."""
    raise NoKernel("there is no kernel that takes the same of equal elements")


def _settled(x, dim, values, places):
    """(values, places), these if no two elements of x along the dim can be equal."""
    length = x.shape[dim_of(dim, x.rank)] if x.rank else 1
    return values, places if isinstance(length, int) and length <= 1 else _place_by_pytorch


def _sorted(g, x, dim, descending):
    """(values, indices), stable."""
    if not x.rank:
        return x, g.constant(0, "i64")
    dim = dim_of(dim, x.rank)
    if x.dtype == "bool":
        values, places = _sorted(g, g.convert(x, "u8"), dim, descending)
        return g.convert(values, "bool"), places
    return g.sort([x, g.iota(dim, "i64", x.shape)], dim, bool(descending))


@rule("sort")
def sort(g, out, x, dim=-1, descending=False):
    return sort_stable(g, out, x, False, dim, descending)


@rule("sort.stable")
def sort_stable(g, out, x, stable=None, dim=-1, descending=False):
    ordered = _sorted(g, x, dim, descending)
    return ordered if stable else _settled(x, dim, *ordered)


@rule("argsort", "argsort.stable")
def argsort(g, out, x, dim=-1, descending=False, stable=None):
    places = sort_stable(g, out, x, stable, dim, descending)[1]
    return places() if callable(places) else places


@rule("msort")
def msort(g, out, x):
    return _sorted(g, x, 0, False)[0]


@rule("topk")
def topk(g, out, x, k, dim=-1, largest=True, sorted=True):
    if not x.rank:
        return x, g.constant(0, "i64")
    if x.dtype == "bool":
        raise Unsupported("topk of bool")
    dim = dim_of(dim, x.rank)
    order = list(range(x.rank))
    order[dim], order[-1] = order[-1], order[dim]
    if not sorted and k != 1:
        raise NoKernel("the order of the largest is that of PyTorch's kernel")
    values, places = g.top_k(g.transpose(x, order), k, bool(largest))
    return _settled(x, dim, g.transpose(values, order), g.transpose(places, order))


@rule("kthvalue")
def kthvalue(g, out, x, k, dim=-1, keepdim=False):
    values, places = out
    if not x.rank:
        return x, g.constant(0, "i64")
    dim = dim_of(dim, x.rank)
    ordered = _sorted(g, x, dim, False)
    return _settled(x, dim, *(
        g.reshape(g.slice_dim(part, dim, k - 1, k), one.shape)
        for part, one in zip(ordered, (values, places))))


def _middle(g, x, dim, ignore_nan):
    """(value, place) of the lower median along a dim, which stays with size 1."""
    count = x.shape[dim]
    if not count or x.dtype == "bool":
        raise Unsupported("the median of nothing, or of bool")
    values, places = _sorted(g, x, dim, False)
    shape = x.shape[:dim] + (1,) + x.shape[dim + 1:]
    rank = g.constant((count - 1) // 2, "i64", shape)
    if x.is_float:
        # NaN comes last: the first one, or the middle of what is before it.
        known = g.convert(g.unary("not", g.predicate("is_nan", x)), "i64")
        known = g.reduce("add", known, [dim], keepdim=True)
        if ignore_nan:
            before = g.with_scalar("subtract", g.with_scalar("maximum", known, 1), 1)
            rank = g.with_scalar("divide", before, 2)
        else:
            rank = g.select(g.compare("LT", known, g.constant(count, "i64")), known, rank)
    return tuple(taken_along(g, part, dim, rank) for part in (values, places))


def _median(ignore_nan):
    def whole(g, out, x):
        return g.reshape(_middle(g, g.reshape(x, (prod(x.shape),)), 0, ignore_nan)[0], out.shape)

    def along(g, out, x, dim, keepdim=False):
        if not x.rank:
            return x, g.constant(0, "i64")
        found = _middle(g, x, dim_of(dim, x.rank), ignore_nan)
        return _settled(x, dim, *(g.reshape(part, one.shape) for part, one in zip(found, out)))

    return whole, along


for _name, _ignore_nan in (("median", False), ("nanmedian", True)):
    _whole, _along = _median(_ignore_nan)
    rule(_name)(_whole)
    rule(f"{_name}.dim")(_along)


@rule("mode")
def mode(g, out, x, dim=-1, keepdim=False):
    """The least of the most frequent elements, and a place of it."""
    if not x.rank:
        return x, g.constant(0, "i64")
    dim = dim_of(dim, x.rank)
    count = x.shape[dim]
    if not count or x.dtype == "bool":
        raise Unsupported("the mode of nothing, or of bool")
    ordered = _sorted(g, x, dim, False)
    place = g.iota(dim, "i64", x.shape)
    if count > 1:
        after, before = (g.slice_dim(ordered[0], dim, *ends) for ends in ((1, count), (0, count - 1)))
        first = g.constant(True, "bool", x.shape[:dim] + (1,) + x.shape[dim + 1:])
        starts = g.concatenate([first, g.compare("NE", after, before)], dim)
        start = g.cumulative("maximum", g.select(starts, place, g.constant(0, "i64")), dim)
    else:
        start = place
    longest = g.arg_reduce("maximum", g.binary("subtract", place, start), dim)
    at = g.reshape(longest, x.shape[:dim] + (1,) + x.shape[dim + 1:])
    return _settled(x, dim, *(g.reshape(taken_along(g, part, dim, at), one.shape) for part, one in zip(ordered, out)))
