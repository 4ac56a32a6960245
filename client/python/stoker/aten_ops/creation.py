"""Operators that make tensors from nothing but shapes and scalars."""

from ..graph.values import Value
from .rules.registry import Unsupported, number_of, rule


@rule("full", "full_like", "new_full", "fill.Scalar", "scalar_tensor")
def full(g, out, *args, **kwargs):
    value = kwargs.get("fill_value", args[-1] if args else None)
    return g.constant(value, out.dtype, out.shape)


@rule("fill.Tensor")
def fill(g, out, x, value):
    return g.broadcast(g.convert(value, out.dtype), out.shape)


@rule("zeros", "zeros_like", "new_zeros", "zero", "empty.memory_format", "empty_like", "new_empty",
      "empty_strided", "new_empty_strided", "empty_permuted", "_efficientzerotensor")
def zeros(g, out, *args, **kwargs):
    """What PyTorch leaves uninitialized is zero."""
    return g.constant(0, out.dtype, out.shape)


@rule("ones", "ones_like", "new_ones")
def ones(g, out, *args, **kwargs):
    return g.constant(1, out.dtype, out.shape)


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
    """Counted from the nearer end, as PyTorch does. The ends are numbers, or Values of no dims."""
    if out.dtype not in ("f32", "f64"):
        raise Unsupported(f"even steps in {out.dtype}")
    if steps <= 1:
        return g.broadcast(number_of(g, start, out.dtype), out.shape)
    if isinstance(start, Value) or isinstance(end, Value):
        start, end = number_of(g, start, out.dtype), number_of(g, end, out.dtype)
        step = g.with_scalar("divide", g.binary("subtract", end, start), steps - 1)
    else:
        step = g.constant((end - start) / (steps - 1), out.dtype)
        start, end = g.constant(start, out.dtype), g.constant(end, out.dtype)
    place = g.iota(0, out.dtype, out.shape)
    up = g.binary("add", g.binary("multiply", place, step), start)
    left = g.binary("subtract", g.constant(steps - 1, out.dtype), place)
    down = g.binary("subtract", end, g.binary("multiply", left, step))
    return g.select(g.compare("LT", place, g.constant(steps // 2, out.dtype)), up, down)


_ENDS = ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")


@rule(*(f"linspace.{ends}" for ends in _ENDS))
def linspace(g, out, start, end, steps, **kwargs):
    return _even_steps(g, out, start, end, steps)


@rule(*(f"logspace.{ends}" for ends in _ENDS))
def logspace(g, out, start, end, steps, base=10.0, **kwargs):
    exponents = _even_steps(g, out, start, end, steps)
    return g.binary("power", g.constant(base, out.dtype), exponents)


@rule("eye", "eye.m")
def eye(g, out, *args, **kwargs):
    equal = g.compare("EQ", g.iota(0, "i64", out.shape), g.iota(1, "i64", out.shape))
    return g.convert(equal, out.dtype)
