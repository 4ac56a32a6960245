"""Special functions: Chebyshev series (series.py), recurrences and asymptotic series in f32 or better."""

import math

from . import series
from ..rules.formulas import formula, formula_of_all
from ..rules.registry import Unsupported, compute_dtype, rule

# Terms of a series that are smaller than this, beside its largest, are left out in f32.
_NEGLIGIBLE_IN_F32 = 1e-9


def _series(g, t, coefficients):
    """A sum of c[k] T_k(t) by Clenshaw's recurrence."""
    if t.dtype == "f32":
        least = _NEGLIGIBLE_IN_F32 * max(map(abs, coefficients))
        while abs(coefficients[-1]) < least:
            coefficients = coefficients[:-1]
    twice = g.with_scalar("multiply", t, 2)
    after, current = g.constant_like(0, t), g.constant_like(coefficients[-1], t)
    for coefficient in coefficients[-2:0:-1]:
        before = g.with_scalar(
            "add", g.binary("subtract", g.binary("multiply", twice, current), after), coefficient)
        after, current = current, before
    return g.with_scalar(
        "add", g.binary("subtract", g.binary("multiply", t, current), after), coefficients[0])


def _polynomial(g, x, coefficients):
    """The first coefficient is the constant one."""
    result = g.constant_like(coefficients[-1], x)
    for coefficient in reversed(coefficients[:-1]):
        result = g.with_scalar("add", g.binary("multiply", result, x), coefficient)
    return result


def _times(g, x, number):
    return g.with_scalar("multiply", x, number)


def _over(g, number, x):
    return g.binary("divide", g.constant(number, x.dtype), x)


def _choose(g, predicate, on_true, on_false, x):
    """Of numbers or Values, in x's type."""
    values = [
        g.constant(one, x.dtype) if isinstance(one, (int, float)) else one for one in (on_true, on_false)]
    return g.broadcast(g.select(predicate, *values), x.shape)


# ---- The error function's relatives ----------------------------------------------------------------


def _scaled_complement(g, size):
    """e^(x^2) erfc(x) of x >= 0."""
    t = g.binary("divide", g.with_scalar("subtract", size, 3.75), g.with_scalar("add", size, 3.75))
    # Infinity over infinity.
    t = _choose(g, g.compare_with("EQ", size, math.inf), 1, t, size)
    over = g.with_scalar("add", _times(g, size, 2), 1)
    return g.binary("divide", _series(g, t, series.ERFCX), over)


def _bell(g, x):
    return g.unary("exponential", g.unary("negate", g.binary("multiply", x, x)))


@formula("special_erfcx")
def erfcx(g, x):
    size = g.unary("abs", x)
    right = _scaled_complement(g, size)
    square = g.binary("multiply", x, x)
    left = g.binary("subtract", _times(g, g.unary("exponential", square), 2), right)
    return g.select(g.compare_with("LT", x, 0), left, right)


@formula("special_log_ndtr")
def log_ndtr(g, x):
    scaled = _times(g, x, math.sqrt(0.5))
    far = g.binary(
        "subtract", g.unary("log", _times(g, erfcx(g, g.unary("negate", scaled)), 0.5)),
        g.binary("multiply", scaled, scaled))
    near = g.unary("log_plus_one", _times(g, g.unary("erfc", scaled), -0.5))
    return g.select(g.compare_with("LT", x, -1), far, near)


def _newton(g, x, excess):
    """A step towards where the error function has no excess."""
    slope = _times(g, _bell(g, x), 2 / math.sqrt(math.pi))
    return g.binary("subtract", x, g.binary("divide", excess, slope))


@formula("erfinv", "special_erfinv")
def erfinv(g, y):
    """A rational approximation and two steps of Newton's, as PyTorch's."""
    size = g.unary("abs", y)
    square = g.binary("multiply", y, y)
    near = g.binary("divide", g.binary("multiply", y, _polynomial(
        g, square, (0.886226899, -1.645349621, 0.914624893, -0.140543331))), _polynomial(
        g, square, (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801)))
    root = g.unary("sqrt", g.unary("negate", g.unary("log", _times(
        g, g.binary("subtract", g.constant(1, y.dtype), size), 0.5))))
    far = g.binary("divide", _polynomial(
        g, root, (-1.970840454, -1.624906493, 3.429567803, 1.641345311)), _polynomial(
        g, root, (1.0, 3.543889200, 1.637067800)))
    for _ in range(2):
        near = _newton(g, near, g.binary("subtract", g.unary("erf", near), y))
        # Of the complement, whose digits are all there where erf is nearly 1.
        rest = g.binary("subtract", g.constant(1, y.dtype), size)
        far = _newton(g, far, g.binary("subtract", rest, g.unary("erfc", far)))
    far = g.select(g.compare_with("LT", y, 0), g.unary("negate", far), far)
    x = g.select(g.compare_with("LE", size, 0.7), near, far)
    edge = g.binary("multiply", y, g.constant(math.inf, y.dtype))
    x = g.select(g.compare_with("EQ", size, 1), edge, x)
    return _choose(g, g.compare_with("GT", size, 1), math.nan, x, y)


@formula("special_ndtri")
def ndtri(g, p):
    low = math.exp(-2)
    middle = g.with_scalar("subtract", p, 0.5)
    span = (0.5 - low) ** 2
    t = g.with_scalar("subtract", _times(g, g.binary("multiply", middle, middle), 2 / span), 1)
    near = g.binary("multiply", middle, _series(g, t, series.NDTRI_MIDDLE))
    upper = g.compare_with("GT", p, 0.5)
    tail = g.select(upper, g.binary("subtract", g.constant(1, p.dtype), p), p)
    z = g.unary("sqrt", _times(g, g.unary("log", tail), -2))
    over = _over(g, 1, z)
    close = _series(g, g.with_scalar("divide", g.with_scalar("subtract", over, 5 / 16), 3 / 16), series.NDTRI_TAIL)
    center, half = (1 / 8 + 1 / 40) / 2, (1 / 8 - 1 / 40) / 2
    away = _series(g, g.with_scalar("divide", g.with_scalar("subtract", over, center), half), series.NDTRI_FAR)
    rest = g.binary("multiply", over, g.select(g.compare_with("LT", z, 8), close, away))
    far = g.binary("subtract", rest, g.binary("subtract", z, g.binary("divide", g.unary("log", z), z)))
    far = g.select(upper, g.unary("negate", far), far)
    inner = g.binary("and", g.compare_with("GE", p, low), g.compare_with("LE", p, 1 - low))
    result = g.select(inner, near, far)
    result = _choose(g, g.compare_with("EQ", p, 0), -math.inf, result, p)
    result = _choose(g, g.compare_with("EQ", p, 1), math.inf, result, p)
    outside = g.binary("or", g.compare_with("LT", p, 0), g.compare_with("GT", p, 1))
    return _choose(g, outside, math.nan, result, p)


@formula("special_entr")
def entr(g, x):
    inside = g.unary("negate", g.binary("multiply", x, g.unary("log", x)))
    result = _choose(g, g.compare_with("GT", x, 0), inside, -math.inf, x)
    result = _choose(g, g.compare_with("EQ", x, 0), 0, result, x)
    return g.select(g.predicate("is_nan", x), x, result)


@formula_of_all("special_xlog1py")
def xlog1py(g, x, y):
    result = g.binary("multiply", x, g.unary("log_plus_one", y))
    result = g.select(g.compare_with("EQ", x, 0), g.constant(0, x.dtype), result)
    return g.select(g.predicate("is_nan", y), y, result)


# ---- Modified Bessel functions ----------------------------------------------------------------------


def _scaled_i(g, order, size):
    """e^-x I(x) of x >= 0."""
    near = _series(
        g, g.with_scalar("subtract", _times(g, size, 0.25), 1), (series.I0_NEAR, series.I1_NEAR)[order])
    near = near if order == 0 else g.binary("multiply", near, size)
    far = _series(
        g, g.with_scalar("subtract", _over(g, 16, size), 1), (series.I0_FAR, series.I1_FAR)[order])
    far = g.binary("divide", far, g.unary("sqrt", size))
    return g.select(g.compare_with("LE", size, 8), near, far)


def _with_sign(g, order, x, result):
    return g.select(g.compare_with("LT", x, 0), g.unary("negate", result), result) if order else result


def _i(order, scaled):
    def emit(g, x):
        size = g.unary("abs", x)
        result = _scaled_i(g, order, size)
        if not scaled:
            # Half the power at a time: e^x may be infinite where I(x) is not.
            half = g.unary("exponential", _times(g, size, 0.5))
            result = g.binary("multiply", g.binary("multiply", result, half), half)
        return _with_sign(g, order, x, result)

    return emit


_i0, _i1 = _i(0, False), _i(1, False)
formula("i0", "special_i0", "special_modified_bessel_i0")(_i0)
formula("special_i1", "special_modified_bessel_i1")(_i1)
formula("special_i0e")(_i(0, True))
formula("special_i1e")(_i(1, True))


def _log_of_half(g, x):
    """Half of the least number is none."""
    of_least = g.with_scalar("subtract", g.unary("log", x), math.log(2))
    return g.select(g.compare_with("LT", x, 1e-30), of_least, g.unary("log", _times(g, x, 0.5)))


def _k(order, scaled):
    def emit(g, x):
        square = g.binary("multiply", x, x)
        t = g.with_scalar("subtract", _times(g, square, 0.5), 1)
        near = _series(g, t, (series.K0_NEAR, series.K1_NEAR)[order])
        bend = g.binary("multiply", _log_of_half(g, x), (_i0, _i1)[order](g, x))
        if order == 0:
            near = g.binary("subtract", near, bend)
        else:
            near = g.binary("add", g.binary("divide", near, x), bend)
        far = _series(
            g, g.with_scalar("subtract", _over(g, 4, x), 1), (series.K0_FAR, series.K1_FAR)[order])
        far = g.binary("divide", far, g.unary("sqrt", x))
        if scaled:
            near = g.binary("multiply", near, g.unary("exponential", x))
        else:
            far = g.binary("multiply", far, g.unary("exponential", g.unary("negate", x)))
        result = g.select(g.compare_with("LE", x, 2), near, far)
        result = _choose(g, g.compare_with("EQ", x, 0), math.inf, result, x)
        return _choose(g, g.compare_with("LT", x, 0), math.nan, result, x)

    return emit


formula("special_modified_bessel_k0")(_k(0, False))
formula("special_modified_bessel_k1")(_k(1, False))
formula("special_scaled_modified_bessel_k0")(_k(0, True))
formula("special_scaled_modified_bessel_k1")(_k(1, True))


# ---- Bessel functions -------------------------------------------------------------------------------


def _wave(g, order, x, of_second_kind):
    """J(x) or Y(x) of x >= 8."""
    t = g.with_scalar("subtract", _over(g, 128, g.binary("multiply", x, x)), 1)
    along = _series(g, t, (series.P0, series.P1)[order])
    across = g.binary(
        "multiply", _series(g, t, (series.Q0, series.Q1)[order]), _over(g, 8, x))
    # cos and sin of x - (2 order + 1) pi / 4, of x itself alone: a difference would round.
    sine, cosine = g.unary("sine", x), g.unary("cosine", x)
    plus, minus = g.binary("add", cosine, sine), g.binary("subtract", sine, cosine)
    turned = (plus, minus) if order == 0 else (minus, g.unary("negate", plus))
    cosine, sine = (_times(g, value, math.sqrt(0.5)) for value in turned)
    if of_second_kind:
        value = g.binary("add", g.binary("multiply", along, sine), g.binary("multiply", across, cosine))
    else:
        value = g.binary("subtract", g.binary("multiply", along, cosine), g.binary("multiply", across, sine))
    return g.binary("multiply", value, g.unary("sqrt", _over(g, 2 / math.pi, x)))


def _near_wave(g, order, x, coefficients):
    t = g.with_scalar("subtract", _times(g, g.binary("multiply", x, x), 1 / 32), 1)
    return _series(g, t, coefficients[order])


_J_NEAR, _Y_NEAR = (series.J0_NEAR, series.J1_NEAR), (series.Y0_NEAR, series.Y1_NEAR)


def _j_near(g, order, x):
    near = _near_wave(g, order, x, _J_NEAR)
    return near if order == 0 else g.binary("multiply", near, x)


def _j(order):
    def emit(g, x):
        size = g.unary("abs", x)
        result = g.select(
            g.compare_with("LE", size, 8), _j_near(g, order, size), _wave(g, order, size, False))
        return _with_sign(g, order, x, result)

    return emit


def _y(order):
    def emit(g, x):
        near = _near_wave(g, order, x, _Y_NEAR)
        near = near if order == 0 else g.binary("divide", near, x)
        bend = g.binary("multiply", _times(g, g.unary("log", x), 2 / math.pi), _j_near(g, order, x))
        result = g.select(g.compare_with("LE", x, 8), g.binary("add", near, bend), _wave(g, order, x, True))
        result = _choose(g, g.compare_with("EQ", x, 0), -math.inf, result, x)
        return _choose(g, g.compare_with("LT", x, 0), math.nan, result, x)

    return emit


for _order in (0, 1):
    formula(f"special_bessel_j{_order}")(_j(_order))
    formula(f"special_bessel_y{_order}")(_y(_order))


@formula("special_spherical_bessel_j0")
def spherical_bessel_j0(g, x):
    square = g.binary("multiply", x, x)
    near = _polynomial(g, square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)])
    far = g.binary("divide", g.unary("sine", x), x)
    result = g.select(g.compare_with("LT", g.unary("abs", x), 0.5), near, far)
    return _choose(g, g.compare_with("EQ", g.unary("abs", x), math.inf), 0, result, x)


# ---- The gamma function's relatives ------------------------------------------------------------------

# B(2 k) / (2 k (2 k - 1)) of Stirling's series, and the Bernoulli numbers themselves.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _reflected(g, x):
    """(cos, sin)(pi x) up to one common sign."""
    part = g.binary("subtract", x, g.unary("round_nearest_even", x))
    # The cosine through its sine, which is exact about its zero.
    rest = g.binary("subtract", g.constant(0.5, x.dtype), g.unary("abs", part))
    return tuple(g.unary("sine", _times(g, turn, math.pi)) for turn in (rest, part))


@formula("mvlgamma")
def mvlgamma(g, x, p):
    result = g.constant_like(0.25 * p * (p - 1) * math.log(math.pi), x)
    for place in range(p):
        result = g.binary("add", result, g.unary("log_gamma", g.with_scalar("subtract", x, place / 2)))
    return result


def _digamma_above(g, x):
    """Of x > 0: up to 10, then its asymptotic series, as PyTorch's."""
    result = g.constant_like(0, x)
    for _ in range(10):
        low = g.compare_with("LT", x, 10)
        result = g.select(low, g.binary("subtract", result, _over(g, 1, x)), result)
        x = g.select(low, g.with_scalar("add", x, 1), x)
    over = _over(g, 1, x)
    square = g.binary("multiply", over, over)
    terms = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    rest = g.binary("multiply", _polynomial(g, square, terms), square)
    grown = g.binary("subtract", g.unary("log", x), _times(g, over, 0.5))
    return g.binary("add", result, g.binary("subtract", grown, rest))


@formula("digamma", "special_digamma", "special_psi")
def digamma(g, x):
    below = g.compare_with("LT", x, 0)
    one_less = g.binary("subtract", g.constant(1, x.dtype), x)
    above = _digamma_above(g, g.select(below, one_less, x))
    cosine, sine = _reflected(g, x)
    turn = _times(g, g.binary("divide", cosine, sine), math.pi)
    result = g.select(below, g.binary("subtract", above, turn), above)
    whole = g.binary("and", below, g.compare("EQ", x, g.unary("floor", x)))
    result = _choose(g, whole, math.nan, result, x)
    # -1 / x tells the zeros apart.
    return g.select(g.compare_with("EQ", x, 0), _over(g, -1, x), result)


# Of polygamma: what its powers and factorials stay finite for.
_MAX_ORDER = 16


def _tails(g, s, x):
    """The sum over k >= 0 of (x + k)^-s, by Euler and Maclaurin from the tenth term on; x > 0."""
    def power(value):
        over, result = _over(g, 1, value), None
        for _ in range(s):
            result = over if result is None else g.binary("multiply", result, over)
        return result

    total = power(x)
    for _ in range(10):
        x = g.with_scalar("add", x, 1)
        total = g.binary("add", total, power(x))
    last, over = power(x), _over(g, 1, x)
    # The last term was counted whole.
    total = g.binary("add", total, g.binary("multiply", last, g.with_scalar("subtract", _times(g, x, 1 / (s - 1)), 0.5)))
    terms, rising = [], 1.0
    for k, number in enumerate(_BERNOULLI, 1):
        rising = rising * (s if k == 1 else (s + 2 * k - 3) * (s + 2 * k - 2))
        terms.append(number / math.factorial(2 * k) * rising)
    rest = g.binary("multiply", _polynomial(g, g.binary("multiply", over, over), terms), over)
    return g.binary("add", total, g.binary("multiply", rest, last))


def _cotangent_derivative(order):
    """Coefficients in c = cot(pi x) of its derivative of this order, over pi^order."""
    coefficients = [0, 1]
    for _ in range(order):
        slope = [k * one for k, one in enumerate(coefficients)][1:]
        coefficients = [0] * (len(slope) + 2)
        for k, one in enumerate(slope):
            coefficients[k] -= one
            coefficients[k + 2] -= one
    return [float(one) for one in coefficients]


def _trigamma(g, x):
    """PyTorch's way, with an unreduced sine."""
    below = g.compare_with("LT", x, 0.5)
    sine = g.unary("sine", _times(g, x, math.pi))
    turn = _over(g, -math.pi ** 2, g.binary("multiply", sine, sine))
    result = _choose(g, below, turn, 0, x)
    x = g.select(below, g.binary("subtract", g.constant(1, x.dtype), x), x)
    for _ in range(6):
        result = g.binary("add", result, _over(g, 1, g.binary("multiply", x, x)))
        x = g.with_scalar("add", x, 1)
    over = _over(g, 1, x)
    square = g.binary("multiply", over, over)
    tail = _polynomial(g, square, (1, 1 / 6, -1 / 30, 1 / 42))
    tail = g.binary("multiply", g.binary("add", tail, _times(g, over, 0.5)), over)
    result = g.binary("add", result, tail)
    return g.select(below, g.unary("negate", result), result)


def polygamma_of(g, order, x):
    if order < 2:
        return (digamma, _trigamma)[order](g, x)
    if order > _MAX_ORDER:
        raise Unsupported(f"polygamma of order {order}")
    below = g.compare_with("LT", x, 0)
    one_less = g.binary("subtract", g.constant(1, x.dtype), x)
    tails = _tails(g, order + 1, g.select(below, one_less, x))
    above = _times(g, tails, (-1) ** (order + 1) * math.factorial(order))
    cosine, sine = _reflected(g, x)
    turn = _polynomial(g, g.binary("divide", cosine, sine), _cotangent_derivative(order))
    mirrored = g.binary(
        "subtract", _times(g, above, (-1) ** order), _times(g, turn, math.pi ** (order + 1)))
    result = g.select(below, mirrored, above)
    pole = g.binary("and", g.compare_with("LE", x, 0), g.compare("EQ", x, g.unary("floor", x)))
    return _choose(g, pole, (-1) ** (order + 1) * math.inf, result, x)


@rule("polygamma", "special_polygamma")
def polygamma(g, out, order, x):
    wide = g.convert(x, compute_dtype(out.dtype))
    return g.convert(polygamma_of(g, order, wide), out.dtype)
