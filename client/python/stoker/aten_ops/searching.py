"""Where numbers are among others, which are promoted as by a comparison."""

from math import prod

from .pointwise import compared
from .rules.registry import Unsupported, promote, rule

# From so many on PyTorch sorts them beside a single number, which then is a vector too.
_SORTED_FROM = 10


@rule("isin.Tensor_Tensor")
def isin(g, out, x, values, assume_unique=False, invert=False):
    count = prod(values.shape)
    flat = g.reshape(values, (count,))
    among = g.reshape(x, (*x.shape, 1))
    dtype = promote(x, values) if x.rank or count < _SORTED_FROM else promote(among, flat)
    equal = g.compare("EQ", g.convert(among, dtype), g.convert(flat, dtype))
    found = g.reduce("or", equal, [x.rank])
    return g.unary("not", found) if invert else found


@rule("isin.Tensor_Scalar")
def isin_number(g, out, x, number, assume_unique=False, invert=False):
    return compared(g, "NE" if invert else "EQ", x, number)


@rule("searchsorted.Tensor")
def searchsorted(g, out, ordered, values, out_int32=False, right=False, side=None, sorter=None):
    """PyTorch's binary search, step by step, so that what is not in order gives the same."""
    right = right if side is None else side == "right"
    length = ordered.shape[-1] if ordered.rank else 1
    if not prod(ordered.shape) or not prod(values.shape):
        if sorter is not None:
            raise Unsupported("a sorter for nothing")
        return g.constant_like(0, out)
    dtype = promote(ordered, values)
    ordered, values = g.convert(ordered, dtype), g.convert(values, dtype)
    ordered = g.reshape(ordered, (prod(ordered.shape),))
    places = None if sorter is None else g.reshape(g.convert(sorter, "i64"), ordered.shape)
    # The rows of what is ordered, if it has several, are those of the values.
    rows = ordered.shape[0] // length
    flat = g.reshape(values, (rows, prod(values.shape) // rows))
    base = g.with_scalar("multiply", g.iota(0, "i64", flat.shape), length)

    def at(x, place):
        place = g.reshape(g.binary("add", base, place), (*flat.shape, 1))
        return g.gather(x, place, [], [0], [0], [1])

    start, end = g.constant(0, "i64", flat.shape), g.constant(length, "i64", flat.shape)
    for _ in range(length.bit_length()):
        middle = g.binary("add", start, g.with_scalar("divide", g.binary("subtract", end, start), 2))
        found = at(ordered, middle if places is None else at(places, middle))
        stays = g.compare("GT" if right else "GE", found, flat)
        goes_on = g.compare("LT", start, end)
        after = g.with_scalar("add", middle, 1)
        start, end = (
            g.select(g.binary("and", goes_on, g.unary("not", stays)), after, start),
            g.select(g.binary("and", goes_on, stays), middle, end))
    result = g.convert(g.reshape(start, out.shape), out.dtype)
    if sorter is None:
        return result
    return g.checked(result, sorter, 0, length, "torch.searchsorted(): sorter index out of range")


@rule("searchsorted.Scalar")
def searchsorted_number(g, out, ordered, number, *args, **kwargs):
    return searchsorted(g, out, ordered, g.constant(number, promote(ordered, number)), *args, **kwargs)


@rule("bucketize.Tensor")
def bucketize(g, out, values, boundaries, out_int32=False, right=False):
    return searchsorted(g, out, boundaries, values, out_int32, right)
