"""Pointwise operators: arithmetic, comparisons, bits, conversions."""

import math

from ..graph.text import FLOATS, INTEGER_LIMITS, Value, element_of
from .registry import Unsupported, as_value, compute_dtype, promote, rule

# ---- One operand, one node: computed in the dtype of the result ------------------------------------

_UNARY = {
    "exp": "exponential", "exp2": "exponential2", "expm1": "exponential_minus_one", "log": "log",
    "log2": "log2", "log1p": "log_plus_one", "sigmoid": "logistic", "sqrt": "sqrt",
    "rsqrt": "rsqrt", "sin": "sine", "cos": "cosine", "tan": "tan", "asin": "asin", "acos": "acos",
    "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "erf": "erf",
    "erfc": "erfc", "special_erfc": "erfc", "lgamma": "log_gamma",
    "special_expm1": "exponential_minus_one", "special_erf": "erf",
}
# These leave integers as they are.
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round_nearest_even"}


def _unary(op):
    def emit(g, out, x):
        if out.dtype == "bool":
            raise Unsupported("a bool result")
        return g.unary(op, g.convert(x, out.dtype))

    return emit


def _rounding(op):
    return lambda g, out, x: g.unary(op, x) if x.is_float else x


for _name, _op in _UNARY.items():
    rule(_name)(_unary(_op))
for _name, _op in _ROUNDING.items():
    rule(_name)(_rounding(_op))


@rule("abs")
def absolute(g, out, x):
    return x if x.dtype in ("u8", "bool") else g.unary("abs", x)


@rule("sign", "sgn")
def sign(g, out, x):
    if x.dtype == "bool":
        return x
    zero = g.constant(0, x.dtype)
    positive = g.convert(g.compare("GT", x, zero), x.dtype)
    if x.dtype == "u8":
        return positive
    return g.binary("subtract", positive, g.convert(g.compare("LT", x, zero), x.dtype))


# ---- Formulas over one operand --------------------------------------------------------------------


def formula(*names):
    """Registers f(g, x, *args): computed in f32 for narrow floats, then rounded once."""

    def register(function):
        @rule(*names)
        def emit(g, out, x, *args, **kwargs):
            wide = g.convert(x, compute_dtype(out.dtype))
            return g.convert(function(g, wide, *args, **kwargs), out.dtype)

        return function

    return register


def formula_of_all(*names):
    """As formula(), f(g, *args) of several tensors, which broadcast."""

    def register(function):
        @rule(*names)
        def emit(g, out, *args, **kwargs):
            dtype = compute_dtype(out.dtype)
            wide = [g.convert(x, dtype) if isinstance(x, Value) else x for x in args]
            named = {name: g.convert(x, dtype) if isinstance(x, Value) else x
                     for name, x in kwargs.items()}
            return g.convert(g.broadcast(function(g, *wide, **named), out.shape), out.dtype)

        return function

    return register


@formula("reciprocal")
def reciprocal(g, x):
    return g.binary("divide", g.constant(1, x.dtype), x)


@formula("square")
def square(g, x):
    return g.binary("multiply", x, x)


@formula("log10")
def log10(g, x):
    return g.with_scalar("multiply", g.unary("log", x), 1 / math.log(10))


# From here on, x^2 + 1 is x^2.
_FAR = 1e8


def _or_far(g, x, near):
    """`near`, or log(2 x) where x is so large that it is the same."""
    far = g.with_scalar("add", g.unary("log", x), math.log(2))
    return g.select(g.compare("GT", x, g.constant(_FAR, x.dtype)), far, near)


def _odd(g, x, result):
    """f(x) where `result` is f(|x|)."""
    zero = g.constant(0, x.dtype)
    signed = g.select(g.compare("LT", x, zero), g.unary("negate", result), result)
    return g.select(g.compare("EQ", x, zero), x, signed)


@formula("acosh")
def acosh(g, x):
    """log1p(t + sqrt(t) sqrt(t + 2)), t = x - 1, exact for x near 1."""
    above = g.with_scalar("subtract", x, 1)
    root = g.binary(
        "multiply", g.unary("sqrt", above), g.unary("sqrt", g.with_scalar("add", above, 2)))
    return _or_far(g, x, g.unary("log_plus_one", g.binary("add", above, root)))


@formula("asinh")
def asinh(g, x):
    """log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), exact for small x."""
    size = g.unary("abs", x)
    squared = g.binary("multiply", size, size)
    root = g.with_scalar("add", g.unary("sqrt", g.with_scalar("add", squared, 1)), 1)
    near = g.unary("log_plus_one", g.binary("add", size, g.binary("divide", squared, root)))
    return _odd(g, x, _or_far(g, size, near))


@formula("atanh")
def atanh(g, x):
    """log1p(2 |x| / (1 - |x|)) / 2: with its sign, a number near -1 would lose its digits."""
    size = g.unary("abs", x)
    ratio = g.binary(
        "divide", g.with_scalar("multiply", size, 2),
        g.binary("subtract", g.constant(1, x.dtype), size))
    return _odd(g, x, g.with_scalar("multiply", g.unary("log_plus_one", ratio), 0.5))


@formula("frac")
def frac(g, x):
    return g.binary("subtract", x, g.unary("trunc", x))


@formula("logit")
def logit(g, x, eps=None):
    if eps is not None and eps >= 0:
        # In this order: an eps above 1 / 2 has its bounds exchanged.
        low, high = g.constant(eps, x.dtype), g.constant(1 - eps, x.dtype)
        bounded = g.select(g.compare("GT", x, high), high, x)
        x = g.select(g.compare("LT", x, low), low, bounded)
    return g.unary("log", g.binary("divide", x, g.binary("subtract", g.constant(1, x.dtype), x)))


@formula("sinc", "special_sinc")
def sinc(g, x):
    angle = g.with_scalar("multiply", x, math.pi)
    zero = g.compare("EQ", x, g.constant(0, x.dtype))
    return g.select(
        zero, g.constant(1, x.dtype), g.binary("divide", g.unary("sine", angle), angle))


@formula("deg2rad")
def deg2rad(g, x):
    return g.with_scalar("multiply", x, math.pi / 180)


@formula("rad2deg")
def rad2deg(g, x):
    return g.with_scalar("multiply", x, 180 / math.pi)


@rule("nan_to_num")
def nan_to_num(g, out, x, nan=None, posinf=None, neginf=None):
    if not x.is_float:
        return x
    largest = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "f16": 65504.0,
               "bf16": 3.3895313892515355e38}[x.dtype]
    replaced = [
        (g.predicate("is_nan", x), 0.0 if nan is None else nan),
        (g.compare("EQ", x, g.constant(math.inf, x.dtype)), largest if posinf is None else posinf),
        (g.compare("EQ", x, g.constant(-math.inf, x.dtype)), -largest if neginf is None else neginf),
    ]
    result = x
    for predicate, value in replaced:
        result = g.select(predicate, g.constant(value, x.dtype), result)
    return result


# ---- Predicates -----------------------------------------------------------------------------------


@rule("isnan")
def isnan(g, out, x):
    return g.predicate("is_nan", x) if x.is_float else g.constant(False, "bool", x.shape)


@rule("isfinite")
def isfinite(g, out, x):
    return g.predicate("is_finite", x) if x.is_float else g.constant(True, "bool", x.shape)


@rule("isinf")
def isinf(g, out, x):
    if not x.is_float:
        return g.constant(False, "bool", x.shape)
    return g.compare("EQ", g.unary("abs", x), g.constant(math.inf, x.dtype))


@rule("isposinf")
def isposinf(g, out, x):
    if not x.is_float:
        return g.constant(False, "bool", x.shape)
    return g.compare("EQ", x, g.constant(math.inf, x.dtype))


@rule("isneginf")
def isneginf(g, out, x):
    if not x.is_float:
        return g.constant(False, "bool", x.shape)
    return g.compare("EQ", x, g.constant(-math.inf, x.dtype))


@formula("angle")
def angle(g, x):
    """Of a real number: pi below zero."""
    below = g.compare("LT", x, g.constant(0, x.dtype))
    result = g.select(below, g.constant(math.pi, x.dtype), g.constant(0, x.dtype))
    return g.select(g.predicate("is_nan", x), x, result)


@rule("round.decimals")
def round_decimals(g, out, x, decimals=0):
    if not x.is_float:
        raise Unsupported("decimals of integers")
    if decimals == 0:
        return g.unary("round_nearest_even", x)
    wide = g.convert(x, compute_dtype(x.dtype))
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    power = 10.0 ** abs(decimals)
    scaled = g.unary("round_nearest_even", g.with_scalar(there, wide, power))
    return g.convert(g.with_scalar(back, scaled, power), x.dtype)


# ---- Two operands ---------------------------------------------------------------------------------


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
    """Unsupported for a finite number that overflows in the float: PyTorch refuses it."""
    if dtype in FLOATS and math.isfinite(number) and math.isinf(element_of(number, dtype)):
        raise Unsupported(f"{number} as {dtype}")


def _scaled_sum(op, g, out, x, y, alpha):
    require_in_range(alpha, out.dtype)
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
    adjusted = g.binary(
        "and", g.compare("NE", remainder, zero),
        g.compare("NE", g.compare("LT", remainder, zero), g.compare("LT", y, zero)))
    one_less = g.convert(adjusted, x.dtype)
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
    is_zero = g.compare("EQ", divisor, g.constant(0, divisor.dtype))
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


@rule("neg")
def neg(g, out, x):
    if x.dtype == "u8":  # It has no sign: what it wraps around to.
        return g.binary("subtract", g.constant(0, x.dtype, x.shape), x)
    return g.unary("negate", x)


_OF_BOOL = {"maximum": "or", "minimum": "and"}


def _extreme(op, g, x, y):
    return g.binary(_OF_BOOL[op] if x.dtype == "bool" else op, x, y)


@rule("maximum", "max.other")
def maximum(g, out, x, y):
    return g.broadcast(_extreme("maximum", g, *both(g, out, x, y)), out.shape)


@rule("minimum", "min.other")
def minimum(g, out, x, y):
    return g.broadcast(_extreme("minimum", g, *both(g, out, x, y)), out.shape)


def _ignoring_nan(op, g, out, x, y):
    x, y = both(g, out, x, y)
    result = _extreme(op, g, x, y)
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


@rule("ldexp.Tensor")
def ldexp(g, out, x, exponent):
    """x * 2 ** exponent."""
    if exponent.is_float and not exponent.rank and not x.is_float and exponent.dtype != out.dtype:
        raise Unsupported(f"an exponent of {exponent.type} beside {x.type}")  # The type is not what a trace says.
    dtype = compute_dtype(out.dtype)
    power = g.unary("exponential2", g.convert(exponent, dtype))
    return g.convert(g.broadcast(g.binary("multiply", g.convert(x, dtype), power), out.shape), out.dtype)


@rule("heaviside")
def heaviside(g, out, x, values):
    x, values = both(g, out, x, values)
    zero = g.constant(0, x.dtype)
    step = g.convert(g.compare("GT", x, zero), x.dtype)
    return g.select(g.compare("EQ", x, zero), values, step)


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
        result = g.constant(1, x.dtype, x.shape)
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
    x, a, b = (g.convert(operand, dtype) for operand in (x, a, b))
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
    return _scaled_term("divide", g, out, x, a, b, value)


# ---- Comparisons and logic ------------------------------------------------------------------------

for _name, _direction in (
        ("eq", "EQ"), ("ne", "NE"), ("lt", "LT"), ("le", "LE"), ("gt", "GT"), ("ge", "GE")):

    @rule(f"{_name}.Tensor", f"{_name}.Scalar")
    def compare(g, out, x, y, direction=_direction):
        dtype = promote(x, y)
        if not isinstance(y, Value) and not isinstance(y, (bool, float)):
            low, high = INTEGER_LIMITS.get(dtype, (-math.inf, math.inf))
            if not low <= y <= high:
                raise Unsupported(f"a comparison of {dtype} with {y}")
        result = g.compare(direction, as_value(g, x, dtype), as_value(g, y, dtype))
        return g.broadcast(result, out.shape)


def _logical(op):
    def emit(g, out, x, y):
        return g.binary(op, g.convert(x, "bool"), g.convert(y, "bool"))

    return emit


for _name in ("and", "or", "xor"):
    rule(f"logical_{_name}")(_logical(_name))


@rule("logical_not")
def logical_not(g, out, x):
    return g.unary("not", g.convert(x, "bool"))


def _bitwise(op):
    def emit(g, out, x, y):
        return g.broadcast(g.binary(op, *both(g, out, x, y)), out.shape)

    return emit


for _name in ("and", "or", "xor"):
    rule(*(f"bitwise_{_name}.{kind}" for kind in ("Tensor", "Scalar", "Scalar_Tensor")))(
        _bitwise(_name))
for _name in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"):
    rule(f"bitwise_left_shift.{_name}")(_bitwise("shift_left"))
    rule(f"bitwise_right_shift.{_name}")(_bitwise("shift_right_arithmetic"))
for _name in ("Tensor", "Scalar"):
    rule(f"__and__.{_name}")(_bitwise("and"))
    rule(f"__or__.{_name}")(_bitwise("or"))
    rule(f"__xor__.{_name}")(_bitwise("xor"))
    rule(f"__lshift__.{_name}")(_bitwise("shift_left"))
    rule(f"__rshift__.{_name}")(_bitwise("shift_right_arithmetic"))


@rule("bitwise_not")
def bitwise_not(g, out, x):
    return g.unary("not", x)


# ---- Selection and bounds -------------------------------------------------------------------------


@rule("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(g, out, condition, on_true, on_false):
    on_true, on_false = both(g, out, on_true, on_false)
    return g.broadcast(g.select(g.convert(condition, "bool"), on_true, on_false), out.shape)


@rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(g, out, x, mask, value):
    return g.broadcast(g.select(mask, as_value(g, value, out.dtype), x), out.shape)


@rule("clamp", "clamp.Tensor")
def clamp(g, out, x, min=None, max=None):
    x = g.convert(x, out.dtype)
    if min is not None:
        x = _extreme("maximum", g, x, _bound(g, min, out.dtype))
    if max is not None:
        x = _extreme("minimum", g, x, _bound(g, max, out.dtype))
    return g.broadcast(x, out.shape)


def _bound(g, bound, dtype):
    """What a number bounds that the type does not hold, or NaN, depends on PyTorch's version."""
    if isinstance(bound, Value):
        return g.convert(bound, dtype)
    low, high = INTEGER_LIMITS.get(dtype, (-math.inf, math.inf))
    if not low <= bound <= high:
        raise Unsupported(f"a bound of {bound} for {dtype}")
    require_in_range(bound, dtype)
    return g.constant(bound, dtype)


@rule("clamp_min", "clamp_min.Tensor")
def clamp_min(g, out, x, min):
    return clamp(g, out, x, min, None)


@rule("clamp_max", "clamp_max.Tensor")
def clamp_max(g, out, x, max):
    return clamp(g, out, x, None, max)


# ---- Conversions ----------------------------------------------------------------------------------


@rule("_to_copy", "to.dtype", "clone", "alias", "detach", "lift_fresh_copy", "contiguous",
      "to.dtype_layout", "lift_fresh", "positive", "alias_copy", "detach_copy")
def to_copy(g, out, x, *args, **kwargs):
    return g.convert(x, out.dtype)


@rule("copy")
def copy(g, out, x, source, non_blocking=False):
    return g.broadcast(g.convert(source, out.dtype), out.shape)


@rule("view.dtype")
def view_dtype(g, out, x, dtype):
    if "bool" in (x.dtype, out.dtype) and x.dtype != out.dtype or x.shape != out.shape:
        raise Unsupported("a view as a dtype of another size, or of bool")
    if x.dtype == out.dtype:
        return x
    return g.node("bitcast_convert", (x,), "", out.dtype, x.shape)
