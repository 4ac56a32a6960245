"""Operators that make tensors from nothing but shapes and scalars."""

from .registry import Unsupported, rule


@rule("full", "full_like", "new_full", "fill.Scalar", "scalar_tensor")
def full(g, out, *args, **kwargs):
    value = kwargs.get("fill_value", args[-1] if args else None)
    return g.constant(value, out.dtype, out.shape)


@rule("fill.Tensor")
def fill(g, out, x, value):
    return g.broadcast(g.convert(value, out.dtype), out.shape)


@rule("zeros", "zeros_like", "new_zeros", "zero", "empty.memory_format", "empty_like", "new_empty",
      "empty_strided", "new_empty_strided", "empty_permuted")
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


@rule("linspace")
def linspace(g, out, start, end, steps, **kwargs):
    """Counted from the nearer end, as PyTorch does."""
    if out.dtype not in ("f32", "f64"):
        raise Unsupported(f"linspace of {out.dtype}")
    if steps == 1:
        return g.constant(start, out.dtype, out.shape)
    step = (end - start) / (steps - 1)
    place = g.iota(0, out.dtype, out.shape)
    up = g.with_scalar("add", g.with_scalar("multiply", place, step), start)
    left = g.binary("subtract", g.constant(steps - 1, out.dtype), place)
    down = g.binary("subtract", g.constant(end, out.dtype), g.with_scalar("multiply", left, step))
    return g.select(g.compare("LT", place, g.constant(steps // 2, out.dtype)), up, down)


@rule("eye", "eye.m")
def eye(g, out, *args, **kwargs):
    equal = g.compare("EQ", g.iota(0, "i64", out.shape), g.iota(1, "i64", out.shape))
    return g.convert(equal, out.dtype)
