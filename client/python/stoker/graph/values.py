"""What GraphText makes: values, known by their type, and the nodes that give them; and how the text form writes numbers."""

import ctypes
import math
import struct
from typing import NamedTuple

from ..base.signals import let_through


class Type(NamedTuple):
    """An element type by its name in the text form ("f32", "i64", "bool", ...) and a shape."""

    dtype: str
    shape: tuple

    def __str__(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


FLOATS = frozenset(("f64", "f32", "f16", "bf16"))
NARROW_FLOATS = frozenset(("f16", "bf16"))
INTEGERS = frozenset(("i64", "i32", "i16", "i8", "u8"))
# Inclusive bounds, and what a reduction over nothing gives.
INTEGER_LIMITS = {
    "i64": (-(2**63), 2**63 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i16": (-(2**15), 2**15 - 1),
    "i8": (-128, 127),
    "u8": (0, 255),
    "bool": (0, 1),
}
LARGEST_FLOATS = {
    "f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "f16": 65504.0, "bf16": 3.3895313892515355e38}


class Node:
    __slots__ = ("op", "operands", "attributes", "results", "order", "maker")

    def __init__(self, op, operands, attributes, maker=None):
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.results = ()
        self.order = None  # Of a transpose: its dims.
        self.maker = maker  # For what it was made first: the GraphText's.


class Value:
    """One result of a node, or an input of the graph (then `node` is None)."""

    __slots__ = ("node", "dtype", "shape", "splat")

    def __init__(self, node, dtype, shape, splat=None):
        self.node = node
        self.dtype = dtype
        self.shape = shape
        self.splat = splat  # The element of a constant whose elements are all equal.

    @property
    def type(self):
        return Type(self.dtype, self.shape)

    @property
    def rank(self):
        return len(self.shape)

    @property
    def is_float(self):
        return self.dtype in FLOATS


def ints(values):
    return "[" + ",".join(map(str, values)) + "]"


def element_of(value, dtype):
    """The Python number that a tensor of the dtype holds for it: what is not 0 is True, integers wrap around, floats are
    rounded, narrow ones from f32."""
    if dtype == "bool":
        return bool(value)
    if dtype in INTEGERS:
        low, high = INTEGER_LIMITS[dtype]
        return (int(value) - low) % (high - low + 1) + low
    value = float(value)
    if dtype == "f64" or not math.isfinite(value):
        return value
    value = ctypes.c_float(value).value
    if dtype == "f32" or math.isinf(value):
        return value
    try:
        if dtype == "f16":
            return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError as error:
        let_through(error)
        return math.copysign(math.inf, value)
    bits, = struct.unpack("I", struct.pack("f", value))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


def number(value, dtype):
    """An element as the text form writes it; Python's repr of a float is its shortest one. What a type rounds to zero or
    infinity has no text of its own."""
    if dtype == "bool":
        return "true" if value else "false"
    element = element_of(value, dtype)
    if dtype in FLOATS and element and not math.isinf(element):
        return repr(float(value))
    return str(element)


def numbers(sizes):
    """The same sizes, for what is made for one of each: they have to be numbers."""
    return tuple(map(int, sizes))


def broadcast_shapes(*shapes):
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if result[position] not in (1, size):
                    raise ValueError(f"Shapes {shapes} do not broadcast.")
                result[position] = size
    return tuple(result)
