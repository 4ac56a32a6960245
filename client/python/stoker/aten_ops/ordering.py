"""Sorting and the largest k."""

from .registry import Unsupported, dim_of, rule


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
    return _sorted(g, x, dim, descending)


@rule("sort.stable")
def sort_stable(g, out, x, stable=None, dim=-1, descending=False):
    return _sorted(g, x, dim, descending)


@rule("argsort", "argsort.stable")
def argsort(g, out, x, dim=-1, descending=False, stable=None):
    return _sorted(g, x, dim, descending)[1]


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
    values, places = g.top_k(g.transpose(x, order), k, bool(largest))
    return g.transpose(values, order), g.transpose(places, order)


@rule("kthvalue")
def kthvalue(g, out, x, k, dim=-1, keepdim=False):
    values, places = out
    if not x.rank:
        return x, g.constant(0, "i64")
    dim = dim_of(dim, x.rank)
    ordered = _sorted(g, x, dim, False)
    return tuple(
        g.reshape(g.slice_dim(part, dim, k - 1, k), one.shape)
        for part, one in zip(ordered, (values, places)))
