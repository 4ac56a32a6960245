"""PyTorch's generator without a state, torch.func._random (Philox 4x32-10). What is drawn follows from a key alone,
(seed, offset) in uint64, which is the state of rng_bit_generator: the numbers are eager's, those of normal() up to the rounding
of its logarithm, sine and cosine."""

import math

from ..graph.values import INTEGER_LIMITS, element_of
from .rules.registry import Unsupported, compute_dtype, rule


def _bits(g, key, dtype, shape):
    """Of i64, an element has the first of its words below the second; PyTorch's 64-bit samples have it above."""
    if key.rank != 1:
        raise Unsupported("a batch of keys")
    return g.random_bits(key, dtype, shape)[1]


def _sample(g, key, dtype, shape):
    bits = _bits(g, key, dtype, shape)
    if dtype == "i32":
        return bits
    return g.binary(
        "or", g.with_scalar("shift_left", bits, 32), g.with_scalar("shift_right_logical", bits, 32))


@rule("_philox_key_split", words=True)
def key_split(g, out, key, num_splits):
    return _bits(g, key, "i64", out.shape)


@rule("_philox_key_fold_in", "_philox_key_fold_in.Tensor", words=True)
def key_fold_in(g, out, key, data):
    steps = g.constant(data, "i64", (1,)) if isinstance(data, int) else g.reshape(data, (1,))
    offset = g.concatenate([g.constant(0, "i64", (1,)), steps], 0)
    return _bits(g, g.binary("add", key, offset), "i64", out.shape)


# How many bits of a sample a float takes.
_DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


@rule("_philox_uniform", words=True)
def uniform(g, out, like, key, low=0.0, high=1.0):
    digits, dtype = _DIGITS[out.dtype], compute_dtype(out.dtype)
    sample = _sample(g, key, "i64" if out.dtype == "f64" else "i32", out.shape)
    places = g.convert(g.with_scalar("and", sample, 2**digits - 1), dtype)
    low, high = element_of(low, out.dtype), element_of(high, out.dtype)
    scaled = g.with_scalar("multiply", g.with_scalar("multiply", places, 2.0**-digits), element_of(high - low, out.dtype))
    return g.convert(g.with_scalar("add", scaled, low), out.dtype)


@rule("_philox_normal", words=True)
def normal(g, out, like, key, mean=0.0, std=1.0):
    """Box and Muller's transform of pairs."""
    dtype = compute_dtype(out.dtype)
    count = math.prod(out.shape)
    pairs = -(-count // 2)
    sample = _sample(g, key, "i64" if dtype == "f64" else "i32", (pairs, 2))
    first, second = (_within_one(g, g.slice_dim(sample, 1, place, place + 1), dtype) for place in (0, 1))
    radius = g.unary("sqrt", g.with_scalar("multiply", g.unary("log", first), -2.0))
    angle = g.with_scalar("multiply", second, 2 * math.pi)
    both = g.concatenate([g.binary("multiply", radius, g.unary(part, angle)) for part in ("cosine", "sine")], 1)
    drawn = g.reshape(g.slice_dim(g.reshape(both, (2 * pairs,)), 0, 0, count), out.shape)
    scaled = g.with_scalar("add", g.with_scalar("multiply", drawn, element_of(std, dtype)), element_of(mean, dtype))
    return g.convert(scaled, out.dtype)


def _within_one(g, sample, dtype):
    """The middle of one of 2^32 parts of (0, 1), or of 2^64."""
    if dtype == "f64":
        high = g.convert(g.with_scalar("shift_right_logical", sample, 32), dtype)
        low = g.convert(g.with_scalar("and", sample, 2**32 - 1), dtype)
        rest = g.with_scalar("add", g.with_scalar("multiply", low, 2.0**-64), 2.0**-65)
        return g.binary("add", g.with_scalar("multiply", high, 2.0**-32), rest)
    places = g.convert(_without_sign(g, sample), dtype)
    return g.with_scalar("add", g.with_scalar("multiply", places, 2.0**-32), 2.0**-33)


def _without_sign(g, sample):
    return g.with_scalar("and", g.convert(sample, "i64"), 2**32 - 1)


@rule("_philox_randint", words=True)
def randint(g, out, like, key, low=None, high=None):
    """A sample modulo the size of the range; of all that a dtype holds, the low bits of the sample."""
    least, most = INTEGER_LIMITS[out.dtype]
    low = least if low is None else low
    size = (most + 1 if high is None else high) - low
    sample = _sample(g, key, "i64" if out.dtype == "i64" else "i32", out.shape)
    if size == most + 1 - least:
        return g.convert(sample, out.dtype)
    if out.dtype == "i64":
        rest = _rest_of_unsigned(g, sample, size)
    else:
        rest = g.with_scalar("remainder", _without_sign(g, sample), size)
    return g.convert(g.with_scalar("add", rest, low), out.dtype)


def _rest_of_unsigned(g, x, size):
    """x modulo `size`, both of 64 bits without a sign."""
    if size < 2**63:  # Of half of it, which has a sign's place; then of twice that, which is less than twice the size.
        half = g.with_scalar("remainder", g.with_scalar("shift_right_logical", x, 1), size)
        x = g.binary("add", g.with_scalar("shift_left", half, 1), g.with_scalar("and", x, 1))
    flipped = [g.with_scalar("xor", each, -(2**63)) for each in (x, g.constant(size, "i64", x.shape))]
    return g.select(g.compare("GE", *flipped), g.with_scalar("subtract", x, size), x)
