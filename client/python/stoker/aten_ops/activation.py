"""Activation functions: formulas in f32 or better, rounded once. Their gradients: activation_gradients.py."""

import math

from .rules.formulas import formula
from .pointwise import clamp
from .rules.registry import Unsupported, compute_dtype, rule


@rule("relu")
def relu(g, out, x):
    return g.with_scalar("maximum", x, 0)


@rule("relu6")
def relu6(g, out, x):
    return clamp(g, out, x, 0, 6)


@rule("hardtanh")
def hardtanh(g, out, x, min_val=-1, max_val=1):
    return clamp(g, out, x, min_val, max_val)


@formula("gelu")
def gelu(g, x, approximate="none"):
    half = g.with_scalar("multiply", x, 0.5)
    if approximate == "tanh":
        cube = g.binary("multiply", g.binary("multiply", x, x), x)
        inner = g.binary("add", x, g.with_scalar("multiply", cube, 0.044715))
        bell = g.unary("tanh", g.with_scalar("multiply", inner, math.sqrt(2 / math.pi)))
    else:
        bell = g.unary("erf", g.with_scalar("multiply", x, math.sqrt(0.5)))
    return g.binary("multiply", half, g.with_scalar("add", bell, 1))


@formula("silu")
def silu(g, x):
    return g.binary("multiply", x, g.unary("logistic", x))


def softplus_of(g, x):
    """log(1 + e^x) without overflow."""
    tail = g.unary("exponential", g.unary("negate", g.unary("abs", x)))
    return g.binary("add", g.with_scalar("maximum", x, 0), g.unary("log_plus_one", tail))


@formula("softplus")
def softplus(g, x, beta=1, threshold=20):
    scaled = g.with_scalar("multiply", x, beta) if beta != 1 else x
    soft = softplus_of(g, scaled)
    soft = g.with_scalar("divide", soft, beta) if beta != 1 else soft
    return g.select(g.compare("GT", scaled, g.constant(threshold, x.dtype)), x, soft)


@formula("mish")
def mish(g, x):
    return g.binary("multiply", x, g.unary("tanh", softplus_of(g, x)))


@rule("log_sigmoid_forward")
def log_sigmoid(g, out, x):
    wide = g.convert(x, compute_dtype(x.dtype))
    tail = g.unary("exponential", g.unary("negate", g.unary("abs", wide)))
    result = g.binary("subtract", g.with_scalar("minimum", wide, 0), g.unary("log_plus_one", tail))

    # PyTorch's backward on CPU starts from it.
    return g.convert(result, x.dtype), lambda: g.convert(tail, x.dtype)


def _hard_gate(g, x):
    """min(max(x + 3, 0), 6)."""
    return g.with_scalar("minimum", g.with_scalar("maximum", g.with_scalar("add", x, 3), 0), 6)


@formula("hardsigmoid")
def hardsigmoid(g, x):
    return g.with_scalar("divide", _hard_gate(g, x), 6)


@formula("hardswish")
def hardswish(g, x):
    return g.with_scalar("divide", g.binary("multiply", x, _hard_gate(g, x)), 6)


@formula("leaky_relu")
def leaky_relu(g, x, negative_slope=0.01):
    positive = g.compare_with("GT", x, 0)
    return g.select(positive, x, g.with_scalar("multiply", x, negative_slope))


@formula("elu")
def elu(g, x, alpha=1, scale=1, input_scale=1):
    bent = g.unary(
        "exponential_minus_one", g.with_scalar("multiply", x, input_scale) if input_scale != 1 else x)
    positive = g.compare_with("GT", x, 0)
    straight = g.with_scalar("multiply", x, scale) if scale != 1 else x
    return g.select(positive, straight, g.with_scalar("multiply", bent, alpha * scale))


@formula("celu")
def celu(g, x, alpha=1.0):
    bent = g.unary("exponential_minus_one", g.with_scalar("divide", x, alpha))
    positive = g.compare_with("GT", x, 0)
    return g.select(positive, x, g.with_scalar("multiply", bent, alpha))


@formula("threshold")
def threshold(g, x, threshold, value):
    below = g.compare_with("LE", x, threshold)
    return g.select(below, g.constant(value, x.dtype), x)


@formula("hardshrink")
def hardshrink(g, x, lambd=0.5):
    inside = g.compare("LE", g.unary("abs", x), g.constant(lambd, x.dtype))
    return g.select(inside, g.constant(0, x.dtype), x)


@formula("softshrink")
def softshrink(g, x, lambd=0.5):
    limit = g.constant(lambd, x.dtype)
    size = g.binary("subtract", g.unary("abs", x), limit)
    shrunk = g.select(
        g.compare_with("GT", x, 0), size, g.unary("negate", size))
    inside = g.compare("LE", g.unary("abs", x), limit)
    return g.select(inside, g.with_scalar("multiply", x, 0), shrunk)


@rule("_prelu_kernel")
def prelu(g, out, x, weight):
    dtype = compute_dtype(out.dtype)
    wide = g.convert(x, dtype)
    positive = g.compare("GT", wide, g.constant(0, dtype))
    bent = g.binary("multiply", wide, g.convert(weight, dtype))
    return g.convert(g.select(positive, wide, bent), out.dtype)


@rule("glu")
def glu(g, out, x, dim=-1):
    dim = dim + x.rank if dim < 0 else dim
    half = x.shape[dim] // 2
    wide = g.convert(x, compute_dtype(x.dtype))
    value = g.slice_dim(wide, dim, 0, half)
    gate = g.unary("logistic", g.slice_dim(wide, dim, half, 2 * half))
    return g.convert(g.binary("multiply", value, gate), out.dtype)


@rule("native_dropout")
def native_dropout(g, out, x, p, train):
    if train is not False and p == 1:  # Nothing is drawn, as dropout() does it; infinities give NaN.
        return g.binary("multiply", x, g.constant(0, x.dtype)), g.constant(False, "bool", x.shape)
    if train is not False and p != 0:
        raise Unsupported("random numbers")
    return x, g.constant(True, "bool", x.shape)
