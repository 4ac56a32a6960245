"""Operators that make tensors from nothing but shapes and scalars."""

import torch

from ..graph.values import FLOATS, LARGEST_FLOATS, Value
from .rules.registry import Unsupported, compute_dtype, number_of, rule


@rule("full", "full_like", "new_full", "fill.Scalar", "scalar_tensor")
def full(g, out, *args, **kwargs):
    value = kwargs.get("fill_value", args[-1] if args else None)
    return g.constant_like(value, out)


@rule("fill.Tensor")
def fill(g, out, x, value):
    return g.broadcast(g.convert(value, out.dtype), out.shape)


@rule("zeros", "zeros_like", "new_zeros", "zero", "_efficientzerotensor")
def zeros(g, out, *args, **kwargs):
    return g.constant_like(0, out)


@rule("empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
def empty(g, out, *args, **kwargs):
    """What PyTorch leaves uninitialized is zero, unless it fills it itself (torch.utils.deterministic)."""
    if torch.are_deterministic_algorithms_enabled():
        raise Unsupported("uninitialized memory, which deterministic algorithms may fill")
    return g.constant_like(0, out)


@rule("ones", "ones_like", "new_ones")
def ones(g, out, *args, **kwargs):
    return g.constant_like(1, out)


def _ramp(g, out, start, step):
    """start + i * step, computed as PyTorch does: in the dtype, f32 for narrow floats."""
    if out.dtype in ("f16", "bf16"):
        return g.convert(_ramp(g, out._replace(dtype="f32"), start, step), out.dtype)
    result = g.iota(0, out.dtype, out.shape)
    if step != 1:
        result = g.with_scalar("multiply", result, step)
    return g.with_scalar("add", result, start) if start != 0 else result


@rule("arange", "arange.start", "arange.start_step")
def arange(g, out, *args, **kwargs):
    start, step = (0, 1) if len(args) == 1 else (args[0], args[2] if len(args) > 2 else 1)
    if "step" in kwargs:
        step = kwargs["step"]
    return _ramp(g, out, start, step)


def _even_steps(g, out, start, end, steps):
    """Counted from the nearer end, as PyTorch does. The ends are numbers, or Values of no dims; the result is of what a
    formula is computed in."""
    if out.dtype not in FLOATS:  # Whether a step reaches a whole number is for one rounding in PyTorch's kernel.
        raise Unsupported(f"even steps in {out.dtype}")
    dtype = compute_dtype(out.dtype)
    start, end = (g.convert(_end_of(g, x, out.dtype), dtype) for x in (start, end))
    if steps <= 1:
        return g.broadcast(start, out.shape)
    step = g.with_scalar("divide", g.binary("subtract", end, start), steps - 1)
    place = g.iota(0, dtype, out.shape)
    up = g.binary("add", g.binary("multiply", place, step), start)
    left = g.binary("subtract", g.constant(steps - 1, dtype), place)
    down = g.binary("subtract", end, g.binary("multiply", left, step))
    return g.select(g.compare("LT", place, g.constant(steps // 2, dtype)), up, down)


def _end_of(g, x, dtype):
    """PyTorch takes it as a number, and raises where the type does not hold it."""
    if not isinstance(x, Value) or not x.is_float or dtype not in _NAMES:
        return number_of(g, x, dtype)
    beyond = g.compare("GT", g.unary("abs", x), g.constant(LARGEST_FLOATS[dtype], x.dtype))
    beyond = g.binary("and", beyond, g.predicate("is_finite", x))
    return g.checked(
        g.convert(x, dtype), g.convert(beyond, "i64"), 0, 1,
        f"value cannot be converted to type {_NAMES[dtype]} without overflow")


_NAMES = {"f16": "c10::Half", "bf16": "c10::BFloat16"}
_ENDS = ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")


@rule(*(f"linspace.{ends}" for ends in _ENDS))
def linspace(g, out, start, end, steps, **kwargs):
    return g.convert(_even_steps(g, out, start, end, steps), out.dtype)


@rule(*(f"logspace.{ends}" for ends in _ENDS))
def logspace(g, out, start, end, steps, base=10.0, **kwargs):
    exponents = _even_steps(g, out, start, end, steps)
    return g.convert(g.binary("power", g.constant(base, exponents.dtype), exponents), out.dtype)


@rule("eye", "eye.m")
def eye(g, out, *args, **kwargs):
    equal = g.compare("EQ", g.iota(0, "i64", out.shape), g.iota(1, "i64", out.shape))
    return g.convert(equal, out.dtype)
