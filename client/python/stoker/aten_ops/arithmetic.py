"""Pointwise arithmetic of two operands and more: sums, products, quotients, powers."""

import math

from ..graph.dims import MOST_COUNTED, Dim
from ..graph.values import FLOATS, LARGEST_FLOATS, Value, element_of
from .rules.formulas import formula, formula_of_all
from .rules.registry import Unsupported, as_value, compute_dtype, promote, rule


def both(g, out, x, y, dtype=None):
    """The operands in the dtype of the result, and then in `dtype`, to compute in."""
    return tuple(g.convert(as_value(g, operand, out.dtype), dtype or out.dtype) for operand in (x, y))


def with_wide_scalar(g, out, x, y):
    """The same in what is computed in, of operators whose kernels take a number as the second operand as it is: they do
    not round it to a narrow float first."""
    dtype = compute_dtype(out.dtype)
    is_number = not isinstance(y, Value) or not y.rank
    return (g.convert(as_value(g, x, out.dtype), dtype),
            as_value(g, y, dtype) if is_number else g.convert(as_value(g, y, out.dtype), dtype))


def require_in_range(number, dtype):
    """Unsupported for a finite number that overflows in the float: PyTorch refuses it. No size does in wide ones."""
    if isinstance(number, Dim) and LARGEST_FLOATS.get(dtype, 0) > MOST_COUNTED:
        return
    if dtype in FLOATS and math.isfinite(number) and math.isinf(element_of(number, dtype)):
        raise Unsupported(f"{number} as {dtype}")


def _scaled_sum(op, g, out, x, y, alpha):
    require_in_range(alpha, out.dtype)
    if type(alpha) is float and out.dtype not in FLOATS:
        raise Unsupported(f"alpha={alpha} for {out.dtype}")
    if op == "subtract" and bool in (type(x), type(y)) or type(alpha) is bool and out.dtype != "bool":
        raise Unsupported("a bool where PyTorch takes numbers")
    if out.dtype == "bool":
        if alpha not in (1, True) or op != "add":
            raise Unsupported("bool arithmetic with alpha")
        return g.broadcast(g.binary("or", *both(g, out, x, y)), out.shape)
    if alpha != 1:
        dtype = compute_dtype(out.dtype)
        x, y = both(g, out, x, y, dtype)
        scaled = g.with_scalar("multiply", y, alpha)
        return g.convert(g.broadcast(g.binary(op, x, scaled), out.shape), out.dtype)
    return g.broadcast(g.binary(op, *both(g, out, x, y)), out.shape)


@rule("add.Tensor", "add.Scalar")
def add(g, out, x, y, alpha=1):
    return _scaled_sum("add", g, out, x, y, alpha)


@rule("sub.Tensor", "sub.Scalar")
def subtract(g, out, x, y, alpha=1):
    return _scaled_sum("subtract", g, out, x, y, alpha)


@rule("rsub.Tensor", "rsub.Scalar")
def reversed_subtract(g, out, x, y, alpha=1):
    return _scaled_sum("subtract", g, out, y, x, alpha)


@rule("mul.Tensor", "mul.Scalar")
def multiply(g, out, x, y):
    op = "and" if out.dtype == "bool" else "multiply"
    return _with_wide_scalar(op, g, out, x, y)


def _with_wide_scalar(op, g, out, x, y):
    result = g.binary(op, *with_wide_scalar(g, out, x, y))
    return g.broadcast(g.convert(result, out.dtype), out.shape)


@rule("div.Tensor", "div.Scalar", "true_divide.Tensor")
def divide(g, out, x, y):
    return _with_wide_scalar("divide", g, out, x, y)


def _floor_divide(g, x, y):
    """As Python: the quotient that belongs to a remainder with the divisor's sign."""
    zero = g.constant(0, x.dtype)
    remainder = g.binary("remainder", x, y)
    one_less = g.above_floor(remainder, y)
    if not x.is_float:
        return g.binary("subtract", g.binary("divide", x, y), one_less)
    quotient = g.binary(
        "subtract", g.binary("divide", g.binary("subtract", x, remainder), y), one_less)
    # The quotient is within rounding of an integer: the nearest one, a zero with the sign of plain division, and plain
    # division by zero.
    plain = g.binary("divide", x, y)
    exact = g.unary("round_nearest_even", quotient)
    exact = g.select(g.compare("EQ", exact, zero), g.binary("multiply", plain, zero), exact)
    return g.select(g.compare("EQ", y, zero), plain, exact)


def _divided(g, out, result, given):
    """A quotient or remainder; of integers PyTorch raises where the divisor that is `given` is 0."""
    result = g.broadcast(g.convert(result, out.dtype), out.shape)
    if out.dtype in FLOATS or not math.prod(out.shape):
        return result
    divisor = as_value(g, given, out.dtype)
    known = g.evaluate(given) if divisor.splat is None else None
    if divisor.splat or known is not None and known.all():
        return result
    is_zero = g.compare_with("EQ", divisor, 0)
    return g.checked(result, g.convert(is_zero, "i64"), 0, 1, "ZeroDivisionError")


@rule("div.Tensor_mode", "div.Scalar_mode")
def divide_mode(g, out, x, y, rounding_mode=None):
    if rounding_mode is None:
        return divide(g, out, x, y)
    given = y
    x, y = with_wide_scalar(g, out, x, y)
    if rounding_mode == "trunc":
        result = g.binary("divide", x, y)
        result = g.unary("trunc", result) if x.is_float else result
    else:
        result = _floor_divide(g, x, y)
    return _divided(g, out, result, given)


@rule("floor_divide", "floor_divide.Scalar")
def floor_divide(g, out, x, y):
    return divide_mode(g, out, x, y, "floor")


@rule("fmod.Tensor", "fmod.Scalar")
def fmod(g, out, x, y):
    return _divided(g, out, g.binary("remainder", *both(g, out, x, y)), y)


@rule("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(g, out, x, y):
    given = y
    x, y = both(g, out, x, y, compute_dtype(out.dtype))
    zero = g.constant(0, x.dtype)
    result = g.binary("remainder", x, y)
    wrong_sign = g.binary(
        "and", g.compare("NE", result, zero),
        g.compare("NE", g.compare("LT", result, zero), g.compare("LT", y, zero)))
    result = g.select(wrong_sign, g.binary("add", result, y), result)
    return _divided(g, out, result, given)


_OF_BOOL = {"maximum": "or", "minimum": "and"}


def extreme(op, g, x, y):
    return g.binary(_OF_BOOL[op] if x.dtype == "bool" else op, x, y)


@rule("maximum", "max.other")
def maximum(g, out, x, y):
    return g.broadcast(extreme("maximum", g, *both(g, out, x, y)), out.shape)


@rule("minimum", "min.other")
def minimum(g, out, x, y):
    return g.broadcast(extreme("minimum", g, *both(g, out, x, y)), out.shape)


def _ignoring_nan(op, g, out, x, y):
    x, y = both(g, out, x, y)
    result = extreme(op, g, x, y)
    if x.is_float:
        result = g.select(g.predicate("is_nan", x), y, result)
        result = g.select(g.predicate("is_nan", y), x, result)
    return g.broadcast(result, out.shape)


@rule("fmax")
def fmax(g, out, x, y):
    return _ignoring_nan("maximum", g, out, x, y)


@rule("fmin")
def fmin(g, out, x, y):
    return _ignoring_nan("minimum", g, out, x, y)


@rule("atan2")
def atan2(g, out, x, y):
    return g.binary("atan2", *both(g, out, x, y))


@rule("hypot")
def hypot(g, out, x, y):
    x, y = both(g, out, x, y, compute_dtype(out.dtype))
    x, y = g.unary("abs", x), g.unary("abs", y)
    large, small = g.binary("maximum", x, y), g.binary("minimum", x, y)
    zero, infinity = g.constant(0, x.dtype), g.constant(math.inf, x.dtype)
    ratio = g.select(g.compare("EQ", large, zero), zero, g.binary("divide", small, large))
    root = g.unary("sqrt", g.with_scalar("add", g.binary("multiply", ratio, ratio), 1))
    result = g.binary("multiply", large, root)
    # Infinity wins over NaN.
    infinite = g.binary("or", g.compare("EQ", x, infinity), g.compare("EQ", y, infinity))
    return g.convert(g.select(infinite, infinity, result), out.dtype)


@rule("logaddexp")
def logaddexp(g, out, x, y):
    x, y = both(g, out, x, y, compute_dtype(out.dtype))
    distance = g.unary("abs", g.binary("subtract", x, y))
    tail = g.unary("log_plus_one", g.unary("exponential", g.unary("negate", distance)))
    result = g.binary("add", g.binary("maximum", x, y), tail)
    # Equal infinities have no distance.
    infinite = g.binary("and", g.compare("EQ", x, y), g.unary("not", g.predicate("is_finite", x)))
    return g.convert(g.select(infinite, x, result), out.dtype)


@rule("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(g, out, x, y):
    x, y = both(g, out, x, y, compute_dtype(out.dtype))
    zero = g.constant(0, x.dtype)
    result = g.binary("multiply", x, g.unary("log", y))
    result = g.select(g.compare("EQ", x, zero), zero, result)
    return g.convert(g.select(g.predicate("is_nan", y), y, result), out.dtype)


@formula_of_all("logaddexp2")
def logaddexp2(g, x, y):
    distance = g.unary("abs", g.binary("subtract", x, y))
    powers = g.unary("exponential2", g.unary("negate", distance))
    tail = g.with_scalar("multiply", g.unary("log_plus_one", powers), 1 / math.log(2))
    result = g.binary("add", g.binary("maximum", x, y), tail)
    infinite = g.binary("and", g.compare("EQ", x, y), g.unary("not", g.predicate("is_finite", x)))
    return g.select(infinite, x, result)


@rule("heaviside")
def heaviside(g, out, x, values):
    x, values = both(g, out, x, values)
    zero = g.constant(0, x.dtype)
    step = g.convert(g.compare("GT", x, zero), x.dtype)
    return g.select(g.compare("EQ", x, zero), values, step)


@formula("reciprocal")
def reciprocal(g, x):
    return g.binary("divide", g.constant(1, x.dtype), x)


@formula("square")
def square(g, x):
    return g.binary("multiply", x, x)


def _integer_power(g, x, exponent):
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else g.binary("multiply", result, x)
        exponent >>= 1
        if exponent:
            x = g.binary("multiply", x, x)
    return result


@rule("pow.Tensor_Scalar")
def power_scalar(g, out, x, exponent):
    x = g.convert(x, compute_dtype(out.dtype))
    if exponent < 0 and not x.is_float:
        raise Unsupported("a negative power of integers")
    if exponent == 0:
        result = g.constant_like(1, x)
    elif exponent in (1, 2, 3, 4):
        result = _integer_power(g, x, int(exponent))
    elif exponent in (0.5, -0.5) and x.is_float:
        # PyTorch takes the root, but in float16, where it is C's power: of -inf, and of -0 without its sign.
        if out.dtype == "f16":
            infinity = g.constant(math.inf, x.dtype)
            x = g.select(g.compare("EQ", x, g.unary("negate", infinity)), infinity, g.with_scalar("add", x, 0))
        result = g.unary("sqrt" if exponent > 0 else "rsqrt", x)
    elif exponent in (-1, -2) and x.is_float:
        result = reciprocal(g, _integer_power(g, x, int(-exponent)))
    else:
        result = g.with_scalar("power", x, exponent)
    return g.convert(result, out.dtype)


@rule("pow.Tensor_Tensor", "pow.Scalar", "float_power.Tensor_Tensor")
def power(g, out, x, y):
    if promote(x, y) == "bool":
        raise Unsupported("a power of bools")
    return g.binary("power", *both(g, out, x, y))


@rule("lerp.Scalar", "lerp.Tensor")
def lerp(g, out, start, end, weight):
    """The formula that is exact at the nearer end, as PyTorch's."""
    dtype = compute_dtype(out.dtype)
    start, end, weight = (as_value(g, x, dtype) for x in (start, end, weight))
    distance = g.binary("subtract", end, start)
    near = g.binary("add", start, g.binary("multiply", weight, distance))
    rest = g.binary("subtract", g.constant(1, dtype), weight)
    far = g.binary("subtract", end, g.binary("multiply", distance, rest))
    first = g.compare("LT", g.unary("abs", weight), g.constant(0.5, dtype))
    return g.convert(g.broadcast(g.select(first, near, far), out.shape), out.dtype)


def _scaled_term(op, g, out, x, a, b, value):
    dtype = compute_dtype(out.dtype)
    x, a, b = (g.convert(g.convert(operand, out.dtype), dtype) for operand in (x, a, b))
    if value != 1:
        a = g.with_scalar("multiply", a, value)
    return g.convert(g.broadcast(g.binary("add", x, g.binary(op, a, b)), out.shape), out.dtype)


@rule("addcmul")
def addcmul(g, out, x, a, b, value=1):
    return _scaled_term("multiply", g, out, x, a, b, value)


@rule("prims.fma.default")
def fma(g, out, a, b, c):
    a, b, c = (as_value(g, x, out.dtype) for x in (a, b, c))
    return g.broadcast(g.binary("add", g.binary("multiply", a, b), c), out.shape)


@rule("addcdiv")
def addcdiv(g, out, x, a, b, value=1):
    if a.dtype not in FLOATS and b.dtype not in FLOATS:
        raise Unsupported("PyTorch divides no integers by integers here")
    return _scaled_term("divide", g, out, x, a, b, value)
