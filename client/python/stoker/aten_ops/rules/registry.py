"""The table of rules, ATen overload -> function that emits nodes, and what the rules share.

A rule is called as rule(g, out, *args, **kwargs): `g` is the GraphText to emit into, `out` the Type (or
tuple of Types, None where the operator gives no tensor) that PyTorch derived for the result, the rest
the operator's arguments with tensors as Values. It returns a Value or a tuple of Values, or raises
Unsupported. A result in a tuple may be a function that makes it, called only if it is used.
"""

import math

from ...graph.values import FLOATS, INTEGER_LIMITS, INTEGERS, LARGEST_FLOATS, NARROW_FLOATS, Value

RULES = {}
# Those of them that take and give uint64, as i64 of the same bits: they move elements, or look at bits alone.
WORD_RULES = set()


class Unsupported(Exception):
    """The operator, or this use of it, has no rule; the message says why."""


def rule(*names, words=False):
    """Registers a rule for overloads named as "add.Tensor"; "neg" stands for "neg.default", and what begins with
    "prims." for itself. `words`: among WORD_RULES."""

    def register(function):
        for name in names:
            full = f"aten.{name}" if "." in name else f"aten.{name}.default"
            if name.startswith("prims."):
                full = name
            if full in RULES:
                raise ValueError(f"Two rules for {full}.")
            RULES[full] = function
            if words:
                WORD_RULES.add(full)
        return function

    return register


def compute_dtype(dtype):
    """What a formula of several steps is computed in: as PyTorch does, f32 for narrow floats."""
    return "f32" if dtype in NARROW_FLOATS else dtype


def kind_of(x):
    """0 for bool, 1 for integers, 2 for floats: type promotion goes up this ladder first."""
    if isinstance(x, Value):
        return 2 if x.dtype in FLOATS else 1 if x.dtype in INTEGERS else 0
    return 2 if isinstance(x, float) else 1 if not isinstance(x, bool) else 0


_WIDTH = {"u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f32": 32, "f64": 64}


def _promote_two(a, b):
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if a in FLOATS or b in FLOATS:
        if b not in FLOATS:
            return a
        if a not in FLOATS:
            return b
        if a in NARROW_FLOATS and b in NARROW_FLOATS:
            return "f32"
        return max(a, b, key=lambda name: _WIDTH.get(name, 16))
    if "u8" in (a, b):
        other = a if b == "u8" else b
        return "i16" if other == "i8" else other
    return max(a, b, key=_WIDTH.get)


def promote(*operands):
    """The dtype of an operator on tensors and Python scalars: torch.result_type of default dtype f32."""
    result, rank = None, -1
    groups = (
        [x for x in operands if isinstance(x, Value) and x.rank],
        [x for x in operands if isinstance(x, Value) and not x.rank],
        [x for x in operands if not isinstance(x, Value)])
    for group in groups:
        if not group or max(kind_of(each) for each in group) <= rank:
            continue
        rank = max(kind_of(each) for each in group)
        dtype = None
        for x in group:
            own = x.dtype if isinstance(x, Value) else ("bool", "i64", "f32")[kind_of(x)]
            dtype = own if dtype is None else _promote_two(dtype, own)
        result = dtype
    return result


def as_value(g, x, dtype):
    """A tensor or a Python scalar as a Value of `dtype`."""
    if isinstance(x, Value):
        return g.convert(x, dtype)
    return g.constant(x, dtype)


def number_of(g, x, dtype):
    """The same of what PyTorch takes as a number, and refuses where the type does not hold it."""
    if isinstance(x, Value) and _may_overflow(x, dtype):
        raise Unsupported(f"a number in {x.dtype}, which {dtype} may not hold")
    return as_value(g, x, dtype)


def _may_overflow(x, dtype):
    if dtype in (x.dtype, "bool"):
        return False
    if x.is_float and dtype not in FLOATS and x.splat is None:
        return True
    if x.is_float and x.splat is not None and not math.isfinite(x.splat):
        return dtype not in FLOATS
    return (_largest(x.dtype) if x.splat is None else abs(x.splat)) > _largest(dtype)


def _largest(dtype):
    return LARGEST_FLOATS[dtype] if dtype in FLOATS else INTEGER_LIMITS[dtype][1]


def dim_of(dim, rank):
    """A dim counted from the front; scalars have one dim to speak of."""
    return dim + rank if dim < 0 else dim


def dims_of(dims, rank):
    """Reduced dims counted from the front; None or nothing means all."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return sorted({dim_of(dim, rank) for dim in dims} if rank else ())


def pair(values, count):
    """A per-dim argument of a window operator, given once or for every dim."""
    values = [values] if isinstance(values, int) else list(values)
    return values * count if len(values) == 1 else values
