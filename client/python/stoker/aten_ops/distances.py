"""Distances between vectors, and their gradients."""

import math
from math import prod

from .reductions import norm_of, shortening
from .rules.registry import Unsupported, compute_dtype, dim_of, rule

# Pairs of rows that are written into a graph one by one.
MAX_PAIRS = 1 << 14


def _outer(g, a, b):
    """Row i of a - row j of b, at [..., i, j, :], in a computing dtype."""
    dtype = compute_dtype(a.dtype)
    a, b = g.convert(a, dtype), g.convert(b, dtype)
    batch = a.shape[:-2]
    width = a.shape[-1]
    rows = g.reshape(a, (*batch, a.shape[-2], 1, width))
    columns = g.reshape(b, (*b.shape[:-2], 1, b.shape[-2], width))
    return g.binary("subtract", rows, columns)


def _slope(g, difference, distance, p):
    """How a distance grows with its first vector; 0 where it has a point."""
    zero = g.constant(0, difference.dtype)
    sign = g.unary("sign", difference)
    if p == 0:
        return g.binary("multiply", difference, zero)
    if p == 1:
        return sign
    if p == 2:
        slope = g.binary("divide", difference, distance)
    else:
        part = g.with_scalar("power", g.unary("abs", difference), p - 1)
        slope = g.binary(
            "divide", g.binary("multiply", sign, part), g.with_scalar("power", distance, p - 1))
    at_point = g.compare("EQ", distance, zero)
    if p < 1:
        at_point = g.binary("or", g.broadcast(at_point, difference.shape), g.compare("EQ", difference, zero))
    return g.select(at_point, zero, slope)


def _check_order(p):
    """With p = inf, which NaN PyTorch sees depends on where it stands."""
    if p == math.inf:
        raise Unsupported("the largest of differences")


@rule("_cdist_forward")
def cdist(g, out, a, b, p, compute_mode):
    _check_order(p)
    difference = _outer(g, a, b)
    return g.convert(norm_of(g, difference, p, [difference.rank - 1]), out.dtype)


@rule("_euclidean_dist")
def euclidean_dist(g, out, a, b):
    """PyTorch multiplies matrices, which loses the digits of near points."""
    return cdist(g, out, a, b, 2.0, None)


@rule("_cdist_backward")
def cdist_backward(g, out, grad, a, b, p, distance):
    _check_order(p)
    if not prod(out.shape) or not prod(grad.shape):
        return g.constant_like(0, out)
    difference = _outer(g, a, b)
    shape = (*difference.shape[:-1], 1)
    grad, distance = (g.reshape(g.convert(x, difference.dtype), shape) for x in (grad, distance))
    steps = g.binary("multiply", _slope(g, difference, distance, p), grad)
    return g.convert(g.reduce("add", steps, [difference.rank - 2]), out.dtype)


def _pairs(g, x):
    """(differences of every two rows, their places)."""
    count = x.shape[0]
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    if len(pairs) > MAX_PAIRS or not x.shape[1]:
        raise Unsupported(f"{len(pairs)} pairs of rows of {x.shape[1]}")
    wide = g.convert(x, compute_dtype(x.dtype))
    places = [g.reshape(g.vector(side, "i64"), (len(pairs), 1)) for side in zip(*pairs)]
    first, second = (g.gather(wide, place, [1], [0], [0], [1, x.shape[1]]) for place in places)
    return g.binary("subtract", first, second), places


@rule("_pdist_forward")
def pdist(g, out, x, p=2.0):
    if 0 in out.shape:
        return g.constant_like(0, out)
    difference, _ = _pairs(g, x)
    return g.convert(norm_of(g, difference, p, [1]), out.dtype)


@rule("_pdist_backward")
def pdist_backward(g, out, grad, x, p, distance):
    _check_order(p)
    if 0 in grad.shape:
        return g.constant_like(0, out)
    difference, places = _pairs(g, x)
    grad, distance = (
        g.reshape(g.convert(value, difference.dtype), (*value.shape, 1)) for value in (grad, distance))
    steps = g.binary("multiply", _slope(g, difference, distance, p), grad)
    total = g.constant(0, steps.dtype, x.shape)
    for place, sign in zip(places, (steps, g.unary("negate", steps))):
        total = g.scatter("add", total, place, sign, [1], [0], [0])
    return g.convert(total, out.dtype)


@rule("dist")
def dist(g, out, a, b, p=2):
    dtype = compute_dtype(out.dtype)
    difference = g.binary("subtract", g.convert(a, dtype), g.convert(b, dtype))
    return g.convert(norm_of(g, difference, p, range(difference.rank)), out.dtype)


@rule("renorm")
def renorm(g, out, x, p, dim, maxnorm):
    dim = dim_of(dim, x.rank)
    wide = g.convert(x, compute_dtype(x.dtype))
    length = norm_of(g, wide, p, [d for d in range(x.rank) if d != dim])
    factor = g.broadcast_in_dim(shortening(g, length, maxnorm), [dim], x.shape)
    return g.convert(g.binary("multiply", wide, factor), out.dtype)


@rule("linalg_cross")
def cross(g, out, a, b, dim=-1):
    dim = dim_of(dim, len(out.shape))
    dtype = compute_dtype(out.dtype)
    a, b = (g.broadcast(g.convert(x, dtype), out.shape) for x in (a, b))

    def turned(x, by):
        return g.concatenate([g.slice_dim(x, dim, by, 3), g.slice_dim(x, dim, 0, by)], dim)

    return g.convert(g.binary(
        "subtract", g.binary("multiply", turned(a, 1), turned(b, 2)),
        g.binary("multiply", turned(a, 2), turned(b, 1))), out.dtype)
