"""Orthogonal polynomials of degrees that are data: PyTorch's recurrences, and cosines between -1 and 1."""

import math

from ..rules.loops import repeated
from ..rules.registry import Unsupported, as_value, rule

# Beyond these PyTorch gives NaN for Hermite's.
_HIGHEST = {"f32": 128, "f64": 512}


def _alternating(g, degree, x):
    """`x` times (-1)^degree."""
    odd = g.compare_with("EQ", g.with_scalar("and", degree, 1), 1)
    return g.select(odd, g.unary("negate", x), x)


def _first_of(g, step, x, degree, first, settled):
    """The polynomials of all degrees above 0 that are not `settled`, from those of degrees 0 and 1: p[k + 1] = step(g, k, x,
    p[k], p[k - 1]), rounded once."""
    degree = g.select(settled, g.constant_like(0, degree), degree)

    def one(g, carried, stays):
        (k, now, before), (x, degree) = carried, stays
        goes_on = g.binary("and", g.compare("LT", k, degree), g.unary("not", g.predicate("is_nan", now)))
        after = g.convert(step(g, *(g.convert(each, "f64") for each in (k, x, now, before))), x.dtype)
        now, before = g.select(goes_on, after, now), g.select(goes_on, now, before)
        k = g.with_scalar("add", k, 1)
        return g.binary("and", goes_on, g.compare("LT", k, degree)), [k, now, before]

    return repeated(g, [g.constant_like(1, degree), first, g.constant_like(1, x)], [x, degree], one)[1]


def _polynomial(name, first, step, known):
    """known(g, x, degree) -> [(where, what it is there)], the first that holds counts."""

    @rule(*(f"special_{name}.{form}" for form in ("default", "x_scalar", "n_scalar")))
    def emit(g, out, x, n):
        if out.dtype not in _HIGHEST:
            raise Unsupported(f"PyTorch's kernel takes no {out.dtype}")
        x, n = (g.broadcast(as_value(g, each, out.dtype), out.shape) for each in (x, n))
        degree = g.convert(n, "i64")
        zero = g.compare_with("EQ", degree, 0)
        below = g.compare_with("LT", degree, 0)
        listed = [(below, g.constant_like(0, x)), *known(g, x, degree), (zero, g.constant_like(1, x))]
        settled = listed[0][0]
        for where, _ in listed[1:]:
            settled = g.binary("or", settled, where)
        result = _first_of(g, step, x, degree, first(g, x), settled)
        for where, value in reversed(listed):
            result = g.select(where, value, result)
        return result


# ---- Chebyshev's -------------------------------------------------------------------------------------

# Of each kind: how p[1] differs from twice x; up to which degree PyTorch takes the recurrence between -1 and 1, and of the
# shifted ones; for which of the angle's sine and cosine.
_KINDS = {"t": (None, 6, 6), "u": (0, 8, 6), "v": (-1, 8, 6), "w": (1, 8, 4)}


def _at_edge(g, kind, degree, dtype, right):
    """At 1, or at -1 but for the sign."""
    grows = {"t": 0, "u": 1, "v": 0 if right else 2, "w": 2 if right else 0}[kind]
    return g.convert(g.with_scalar("add", g.with_scalar("multiply", degree, grows), 1), dtype)


def _between(g, kind, x, degree):
    """By the angle, in f64."""
    wide = g.convert(x, "f64")
    angle, degrees = g.unary("acos", wide), g.convert(degree, "f64")
    if kind == "t":
        return g.convert(g.unary("cosine", g.binary("multiply", degrees, angle)), x.dtype)
    half = angle if kind == "u" else g.with_scalar("multiply", angle, 0.5)
    turned = g.binary("multiply", g.with_scalar("add", degrees, 1 if kind == "u" else 0.5), angle)
    of = "cosine" if kind == "v" else "sine"
    below = g.unary(of, half)
    result = g.convert(g.binary("divide", g.unary(of, turned), below), x.dtype)
    if kind == "u":
        return result
    # So near to an edge that the other of the two is 1.
    at_edge = g.compare_with("EQ", g.unary("sine" if kind == "v" else "cosine", half), 1)
    edge = _at_edge(g, kind, degree, x.dtype, kind == "w")
    return g.select(at_edge, _alternating(g, degree, edge) if kind == "v" else edge, result)


def _chebyshev(kind, shifted):
    more, *highest = _KINDS[kind]

    def inside(g, x):
        return g.with_scalar("subtract", g.binary("add", x, x), 1) if shifted else x

    def first(g, x):
        y = inside(g, x)
        if more is None:
            return y
        twice = g.binary("add", y, y)
        return g.with_scalar("add", twice, more) if more else twice

    def step(g, k, x, now, before):
        y = inside(g, x)
        return g.binary("subtract", g.binary("multiply", g.binary("add", y, y), now), before)

    def known(g, x, degree):
        y = inside(g, x)
        left = _alternating(g, degree, _at_edge(g, kind, degree, x.dtype, False))
        between = g.binary(
            "and", g.compare_with("GT", degree, highest[shifted]), g.compare_with("LT", g.unary("abs", y), 1))
        return [(g.compare_with("EQ", x, 1), _at_edge(g, kind, degree, x.dtype, True)),
                (g.compare_with("EQ", x, 0 if shifted else -1), left), (between, _between(g, kind, y, degree))]

    _polynomial(f"{'shifted_' * shifted}chebyshev_polynomial_{kind}", first, step, known)


for _kind in _KINDS:
    for _shifted in (False, True):
        _chebyshev(_kind, _shifted)


# ---- Others ------------------------------------------------------------------------------------------


def _times_less(g, factor, now, k, before):
    return g.binary("subtract", g.binary("multiply", factor, now), g.binary("multiply", k, before))


def _twice(g, x):
    return g.binary("add", x, x)


def _too_high(g, x, degree):
    return [(g.compare_with("GT", degree, _HIGHEST[x.dtype]), g.constant_like(math.nan, x))]


_polynomial(
    "hermite_polynomial_h", _twice,
    lambda g, k, x, now, before: _times_less(g, _twice(g, x), now, _twice(g, k), before), _too_high)
_polynomial(
    "hermite_polynomial_he", lambda g, x: x,
    lambda g, k, x, now, before: _times_less(g, x, now, k, before), _too_high)


def _laguerre(g, k, x, now, before):
    factor = g.binary("add", _twice(g, k), g.binary("subtract", g.constant_like(1, x), x))
    return g.binary("divide", _times_less(g, factor, now, k, before), g.with_scalar("add", k, 1))


_polynomial(
    "laguerre_polynomial_l", lambda g, x: g.binary("subtract", g.constant_like(1, x), x), _laguerre,
    lambda g, x, degree: [(g.compare_with("EQ", x, 0), g.constant_like(1, x))])


def _legendre(g, k, x, now, before):
    factor = g.binary("multiply", g.with_scalar("add", _twice(g, k), 1), x)
    return g.binary("divide", _times_less(g, factor, now, k, before), g.with_scalar("add", k, 1))


def _legendre_edges(g, x, degree):
    one = g.constant_like(1, x)
    return [(g.compare_with("EQ", x, 1), one), (g.compare_with("EQ", x, -1), _alternating(g, degree, one))]


_polynomial("legendre_polynomial_p", lambda g, x: x, _legendre, _legendre_edges)
