"""Hurwitz's zeta function, by terms and then Euler's and Maclaurin's sum, as PyTorch's."""

import math

from ..rules.loops import repeated
from ..rules.registry import Unsupported, as_value, rule

_LEAST = 2.0 ** -53  # Of a term, beside the sum.
_FIRST = 9  # So many terms, at least, before the sum; and up to that.
# (2 k)! / B(2 k), as PyTorch has them.
_DIVISORS = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
    1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18)


def _term(g, x, q):
    return g.binary("power", q, g.unary("negate", x))


def _terms(g, x, q, settled):
    """(where the sum of the first terms is all, that sum, the last of them, its place)."""
    def one(g, carried, stays):
        (done, is_all, count, place, total, last), (x,) = carried, stays
        after, count = g.with_scalar("add", place, 1), g.with_scalar("add", count, 1)
        term = _term(g, x, after)
        sums = g.binary("add", total, term)
        least = g.with_scalar("multiply", sums, _LEAST)
        small = g.binary("and", g.compare("LT", g.unary("negate", least), term), g.compare("LT", term, least))
        many, near = g.compare_with("GE", count, _FIRST), g.compare_with("LE", after, _FIRST)
        enough = g.binary("and", many, g.unary("not", near))
        is_all = g.select(done, is_all, small)
        place, total, last = (
            g.select(done, *both) for both in ((place, after), (total, sums), (last, term)))
        done = g.binary("or", done, g.binary("or", small, enough))
        return g.unary("not", done), [done, is_all, count, place, total, last]

    zero, nowhere = g.constant_like(0, x), g.constant(False, "bool", x.shape)
    _, is_all, _, place, total, last = repeated(g, [settled, nowhere, zero, q, _term(g, x, q), zero], [x], one)
    return is_all, total, last, place


def _rest(g, x, total, last, place):
    """With what comes after the last term, which the sum counts whole."""
    total = g.binary("add", total, g.binary(
        "divide", g.binary("multiply", last, place), g.with_scalar("subtract", x, 1)))
    total = g.binary("subtract", total, g.with_scalar("multiply", last, 0.5))
    rising, done = g.constant_like(1, x), g.constant(False, "bool", x.shape)
    for k, divisor in enumerate(_DIVISORS):
        rising = g.binary("multiply", rising, g.with_scalar("add", x, 2 * k))
        last = g.binary("divide", last, place)
        term = g.with_scalar("divide", g.binary("multiply", rising, last), divisor)
        total = g.select(done, total, g.binary("add", total, term))
        share = g.unary("abs", g.binary("divide", term, total))
        done = g.binary("or", done, g.compare_with("LT", share, _LEAST))
        rising = g.binary("multiply", rising, g.with_scalar("add", x, 2 * k + 1))
        last = g.binary("divide", last, place)
    return total


@rule(*(f"special_zeta{form}" for form in ("", ".self_scalar", ".other_scalar")))
def zeta(g, out, x, q):
    if out.dtype not in ("f32", "f64"):
        raise Unsupported(f"PyTorch's kernel takes no {out.dtype}")
    x, q = (g.broadcast(g.convert(as_value(g, each, out.dtype), "f64"), out.shape) for each in (x, q))
    below = g.compare_with("LE", q, 0)
    pole = g.binary("and", below, g.compare("EQ", q, g.unary("floor", q)))
    root = g.binary("and", below, g.compare("NE", x, g.unary("floor", x)))
    one, less = g.compare_with("EQ", x, 1), g.compare_with("LT", x, 1)
    listed = [(one, math.inf), (less, math.nan), (pole, math.inf), (root, math.nan)]
    settled = g.constant(False, "bool", x.shape)
    for where, _ in listed:
        settled = g.binary("or", settled, where)
    is_all, *sums = _terms(g, x, q, settled)
    result = g.select(is_all, sums[0], _rest(g, x, *sums))
    for where, value in reversed(listed):
        result = g.select(where, g.constant_like(value, x), result)
    return g.convert(result, out.dtype)
