"""Operators that look at the bits of floats."""

from math import prod

from ..graph.values import INTEGER_LIMITS, INTEGERS, NARROW_FLOATS
from .arithmetic import both
from .rules.registry import Unsupported, compute_dtype, dims_of, rule

# The integer of each float's size: its largest is all bits but the sign.
_BITS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}


def _bits_of(g, x):
    return g.node("bitcast_convert", (x,), "", _BITS[x.dtype], x.shape)


def _float_of(g, bits, dtype):
    return g.node("bitcast_convert", (bits,), "", dtype, bits.shape)


@rule("signbit")
def signbit(g, out, x):
    if x.dtype in ("u8", "bool"):
        return g.constant(False, "bool", x.shape)
    x = _bits_of(g, x) if x.is_float else x
    return g.compare_with("LT", x, 0)


@rule("copysign.Tensor", "copysign.Scalar")
def copysign(g, out, x, y):
    x, y = both(g, out, x, y)
    magnitude = INTEGER_LIMITS[_BITS[x.dtype]][1]
    size = g.with_scalar("and", _bits_of(g, x), magnitude)
    sign = g.with_scalar("and", _bits_of(g, y), ~magnitude)
    return g.broadcast(_float_of(g, g.binary("or", size, sign), x.dtype), out.shape)


@rule("nextafter")
def nextafter(g, out, x, y):
    """The bits of floats of one sign count up with their size."""
    x, y = (g.broadcast(value, out.shape) for value in (x, y))
    bits = _bits_of(g, x)
    zero = g.constant(0, x.dtype)
    grows = g.compare("EQ", g.compare("GT", y, x), g.compare("GT", x, zero))
    moved = g.select(grows, g.with_scalar("add", bits, 1), g.with_scalar("subtract", bits, 1))
    low, least = INTEGER_LIMITS[bits.dtype][0], g.constant(1, bits.dtype)
    from_zero = g.select(g.compare("GT", y, zero), least, g.constant(low + 1, bits.dtype))
    moved = g.select(g.compare("EQ", x, zero), from_zero, moved)
    result = g.select(g.compare("EQ", x, y), y, _float_of(g, moved, x.dtype))
    undefined = g.binary("or", g.predicate("is_nan", x), g.predicate("is_nan", y))
    return g.select(undefined, g.binary("add", x, y), result)


@rule("frexp.Tensor")
def frexp(g, out, x):
    """x = mantissa * 2^exponent with a mantissa of [0.5, 1). What is subnormal is scaled into range first; what is narrow
    has the same two in f32."""
    if x.dtype in NARROW_FLOATS:
        mantissa, exponent = frexp(g, out, g.convert(x, "f32"))
        return g.convert(mantissa, x.dtype), exponent
    digits, bias = {"f64": (52, 1022), "f32": (23, 126)}[x.dtype]
    least = 2.0 ** (1 - bias)
    zero = g.constant(0, x.dtype)
    special = g.binary("or", g.compare("EQ", x, zero), g.unary("not", g.predicate("is_finite", x)))
    tiny = g.compare("LT", g.unary("abs", x), g.constant(least, x.dtype))
    scaled = g.select(tiny, g.with_scalar("multiply", x, 2.0 ** (digits + 1)), x)
    bits = _bits_of(g, scaled)
    field = ((1 << (INTEGER_LIMITS[bits.dtype][1].bit_length() - digits)) - 1) << digits
    raised = g.with_scalar("shift_right_arithmetic", g.with_scalar("and", bits, field), digits)
    exponent = g.with_scalar("subtract", raised, bias)
    exponent = g.select(tiny, g.with_scalar("subtract", exponent, digits + 1), exponent)
    exponent = g.select(special, g.constant(0, bits.dtype), exponent)
    kept = g.with_scalar("or", g.with_scalar("and", bits, ~field), bias << digits)
    mantissa = g.select(special, x, _float_of(g, kept, x.dtype))
    return mantissa, g.convert(exponent, out[1].dtype)


def _power_of_two(g, exponent):
    """2 ** exponent in f64, for exponents of normal numbers."""
    return _float_of(g, g.with_scalar("shift_left", g.with_scalar("add", exponent, 1023), 52), "f64")


def _scaled(g, x, exponent, steps):
    """x * 2 ** exponent in f64, in so many steps before the last. What becomes subnormal does so in the last: it is
    rounded once."""
    for _ in range(steps):
        above, below = (g.compare(*limit) for limit in (
            ("GT", exponent, g.constant(1023, "i64")), ("LT", exponent, g.constant(-1022, "i64"))))
        step = g.select(below, g.constant(53 - 1022, "i64"), g.constant(0, "i64"))
        step = g.select(above, g.constant(1023, "i64"), step)
        x = g.binary("multiply", x, _power_of_two(g, step))
        exponent = g.binary("subtract", exponent, step)
    exponent = g.with_scalar("minimum", g.with_scalar("maximum", exponent, -1022), 1023)
    return g.binary("multiply", x, _power_of_two(g, exponent))


@rule("ldexp.Tensor")
def ldexp(g, out, x, exponent):
    """x * 2 ** exponent: C's of a float and an int, else a product with a power."""
    if exponent.is_float and not exponent.rank and not x.is_float and exponent.dtype != out.dtype:
        raise Unsupported(f"an exponent of {exponent.type} beside {x.type}")  # The type is not what a trace says.
    if x.is_float and exponent.dtype in INTEGERS:
        exponent = g.convert(g.convert(exponent, "i32"), "i64")
        result = _scaled(g, g.convert(x, "f64"), exponent, 2 if x.dtype == "f64" else 0)
    else:
        dtype, own = compute_dtype(out.dtype), exponent.dtype if exponent.is_float else out.dtype
        power = g.convert(g.unary("exponential2", g.convert(exponent, compute_dtype(own))), own)
        result = g.binary("multiply", g.convert(x, dtype), g.convert(power, dtype))
    return g.convert(g.broadcast(result, out.shape), out.dtype)


@rule("hash_tensor", words=True)
def hash_tensor(g, out, x, dim=(), keepdim=False, mode=0):
    """All bits of 64 of each element, exclusively or: halves, and halves of these."""
    dims = dims_of(dim, x.rank)
    count = prod(x.shape[d] for d in dims)
    if mode != 0 or not prod(x.shape):
        raise Unsupported("another hash, or one of nothing")
    bits = _bits_of(g, g.convert(x, "f64")) if x.is_float else g.convert(x, "i64")
    kept = [d for d in range(x.rank) if d not in dims]
    bits = g.reshape(g.transpose(bits, [*kept, *dims]), (*(x.shape[d] for d in kept), count))
    last, count = len(kept), int(count)
    while count > 1:
        half = count // 2
        first, second = (g.slice_dim(bits, last, start, start + half) for start in (0, half))
        folded = g.binary("xor", first, second)
        bits = g.concatenate([folded, g.slice_dim(bits, last, 2 * half, count)], last) if count % 2 else folded
        count = half + count % 2
    return g.reshape(bits, out.shape)
