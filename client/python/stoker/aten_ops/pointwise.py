"""Pointwise operators of one operand, comparisons, bits, selection, conversions."""

import math

from ..graph.values import INTEGER_LIMITS, LARGEST_FLOATS, Value
from .arithmetic import both, extreme, require_in_range
from .rules.formulas import formula
from .rules.registry import Unsupported, as_value, compute_dtype, number_of, promote, rule

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


@rule("neg")
def neg(g, out, x):
    if x.dtype == "u8":  # It has no sign: what it wraps around to.
        return g.binary("subtract", g.constant_like(0, x), x)
    return g.unary("negate", x)


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


@formula("log10")
def log10(g, x):
    return g.with_scalar("multiply", g.unary("log", x), 1 / math.log(10))


# From here on, x^2 + 1 is x^2.
_FAR = 1e8


def _or_far(g, x, near):
    """`near`, or log(2 x) where x is so large that it is the same."""
    far = g.with_scalar("add", g.unary("log", x), math.log(2))
    return g.select(g.compare_with("GT", x, _FAR), far, near)


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
    zero = g.compare_with("EQ", x, 0)
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
    largest = LARGEST_FLOATS[x.dtype]
    replaced = [
        (g.predicate("is_nan", x), 0.0 if nan is None else nan),
        (g.compare_with("EQ", x, math.inf), largest if posinf is None else posinf),
        (g.compare_with("EQ", x, -math.inf), -largest if neginf is None else neginf),
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
    return g.compare_with("EQ", x, math.inf)


@rule("isneginf")
def isneginf(g, out, x):
    if not x.is_float:
        return g.constant(False, "bool", x.shape)
    return g.compare_with("EQ", x, -math.inf)


@formula("angle")
def angle(g, x):
    """Of a real number: pi below zero."""
    below = g.compare_with("LT", x, 0)
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


# ---- Comparisons and logic ------------------------------------------------------------------------

def compared(g, direction, x, y):
    """Promoted to what holds both, but for an integer that x's type does not hold, which PyTorch refuses."""
    dtype = promote(x, y)
    if not isinstance(y, Value) and not isinstance(y, (bool, float)):
        low, high = INTEGER_LIMITS.get(dtype, (-math.inf, math.inf))
        if not low <= y <= high:
            raise Unsupported(f"a comparison of {dtype} with {y}")
    return g.compare(direction, as_value(g, x, dtype), as_value(g, y, dtype))


for _name, _direction in (
        ("eq", "EQ"), ("ne", "NE"), ("lt", "LT"), ("le", "LE"), ("gt", "GT"), ("ge", "GE")):

    @rule(f"{_name}.Tensor", f"{_name}.Scalar")
    def compare(g, out, x, y, direction=_direction):
        return g.broadcast(compared(g, direction, x, y), out.shape)


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
    return g.broadcast(g.select(mask, number_of(g, value, out.dtype), x), out.shape)


@rule("clamp", "clamp.Tensor")
def clamp(g, out, x, min=None, max=None):
    x = g.convert(x, out.dtype)
    if min is not None:
        x = extreme("maximum", g, x, _bound(g, min, out.dtype))
    if max is not None:
        x = extreme("minimum", g, x, _bound(g, max, out.dtype))
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
      "to.dtype_layout", "lift_fresh", "positive", "alias_copy", "detach_copy", "prims.convert_element_type.default")
def to_copy(g, out, x, *args, **kwargs):
    return as_value(g, x, out.dtype)


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
