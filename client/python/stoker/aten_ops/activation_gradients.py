"""Gradients of activation functions, with what PyTorch's kernels give where a function has a bend."""

import math

from .activation import softplus_of
from .rules.formulas import formula_of_all
from .rules.registry import compute_dtype, dim_of, rule


def _one_minus(g, x):
    return g.binary("subtract", g.constant(1, x.dtype), x)


def _zero(g, x):
    return g.constant(0, x.dtype)


@formula_of_all("sigmoid_backward")
def sigmoid_backward(g, grad, result):
    return g.binary("multiply", grad, g.binary("multiply", _one_minus(g, result), result))


@formula_of_all("tanh_backward")
def tanh_backward(g, grad, result):
    return g.binary("multiply", grad, _one_minus(g, g.binary("multiply", result, result)))


@formula_of_all("silu_backward")
def silu_backward(g, grad, x):
    bell = g.unary("logistic", x)
    slope = g.with_scalar("add", g.binary("multiply", x, _one_minus(g, bell)), 1)
    return g.binary("multiply", grad, g.binary("multiply", bell, slope))


@formula_of_all("gelu_backward")
def gelu_backward(g, grad, x, approximate="none"):
    if approximate == "tanh":
        square = g.binary("multiply", x, x)
        factor = math.sqrt(2 / math.pi)
        cube = g.binary("multiply", square, x)
        inner = g.with_scalar(
            "multiply", g.binary("add", x, g.with_scalar("multiply", cube, 0.044715)), factor)
        bell = g.unary("tanh", inner)
        inner_slope = g.with_scalar(
            "add", g.with_scalar("multiply", square, 3 * 0.044715 * factor), factor)
        steep = g.binary("multiply", _one_minus(g, g.binary("multiply", bell, bell)), inner_slope)
        slope = g.binary(
            "add", g.with_scalar("multiply", g.with_scalar("add", bell, 1), 0.5),
            g.binary("multiply", g.with_scalar("multiply", x, 0.5), steep))
        return g.binary("multiply", grad, slope)
    bell = g.with_scalar(
        "add", g.with_scalar("multiply", g.unary("erf", g.with_scalar("multiply", x, math.sqrt(0.5))), 0.5),
        0.5)
    density = g.with_scalar(
        "multiply",
        g.unary("exponential", g.with_scalar("multiply", g.binary("multiply", x, x), -0.5)),
        1 / math.sqrt(2 * math.pi))
    return g.binary("multiply", grad, g.binary("add", bell, g.binary("multiply", x, density)))


@formula_of_all("elu_backward")
def elu_backward(g, grad, alpha, scale, input_scale, is_result, x):
    if is_result:
        bent = g.with_scalar("multiply", g.with_scalar("add", x, alpha * scale), input_scale)
    else:
        power = g.unary("exponential", g.with_scalar("multiply", x, input_scale))
        bent = g.with_scalar("multiply", power, alpha * scale * input_scale)
    below = g.compare("LE", x, _zero(g, x))
    return g.binary("multiply", grad, g.select(below, bent, g.constant(scale, x.dtype)))


@formula_of_all("leaky_relu_backward")
def leaky_relu_backward(g, grad, x, negative_slope, self_is_result):
    positive = g.compare("GT", x, _zero(g, x))
    return g.select(positive, grad, g.with_scalar("multiply", grad, negative_slope))


@formula_of_all("hardtanh_backward")
def hardtanh_backward(g, grad, x, low, high):
    flat = g.binary(
        "or", g.compare_with("LE", x, low), g.compare_with("GE", x, high))
    return g.select(flat, _zero(g, grad), grad)


# As PyTorch's kernel has it for every type: rounded to f32.
_SIXTH = 0.1666666716337204


@formula_of_all("hardsigmoid_backward")
def hardsigmoid_backward(g, grad, x):
    steep = g.binary(
        "and", g.compare_with("GT", x, -3), g.compare_with("LT", x, 3))
    return g.select(steep, g.with_scalar("multiply", grad, _SIXTH), _zero(g, grad))


@formula_of_all("hardswish_backward")
def hardswish_backward(g, grad, x):
    slope = g.with_scalar("add", g.with_scalar("divide", x, 3), 0.5)
    bent = g.select(
        g.compare_with("LT", x, 3), g.binary("multiply", grad, slope), grad)
    return g.select(g.compare_with("LE", x, -3), _zero(g, grad), bent)


@formula_of_all("softplus_backward")
def softplus_backward(g, grad, x, beta, threshold):
    scaled = g.with_scalar("multiply", x, beta)
    straight = g.compare("GT", scaled, g.constant(threshold, x.dtype))
    return g.select(straight, grad, g.binary("multiply", grad, g.unary("logistic", scaled)))


@formula_of_all("mish_backward")
def mish_backward(g, grad, x):
    bell = g.unary("tanh", softplus_of(g, x))
    steep = _one_minus(g, g.binary("multiply", bell, bell))
    slope = g.binary("multiply", g.binary("multiply", x, g.unary("logistic", x)), steep)
    return g.binary("multiply", grad, g.binary("add", bell, slope))


@formula_of_all("threshold_backward")
def threshold_backward(g, grad, x, threshold):
    return g.select(g.compare_with("LE", x, threshold), _zero(g, grad), grad)


@formula_of_all("hardshrink_backward", "softshrink_backward")
def shrink_backward(g, grad, x, lambd):
    inside = g.binary(
        "and", g.compare_with("GE", x, -lambd),
        g.compare_with("LE", x, lambd))
    return g.select(inside, _zero(g, grad), grad)


@formula_of_all("logit_backward")
def logit_backward(g, grad, x, eps=None):
    low = 0.0 if eps is None or eps < 0 else eps
    outside = g.binary(
        "or", g.compare_with("LT", x, low), g.compare_with("GT", x, 1 - low))
    at_pole = g.binary("or", g.compare("EQ", x, _zero(g, x)), g.compare_with("EQ", x, 1))
    slope = g.binary("divide", grad, g.binary("multiply", x, _one_minus(g, x)))
    inside = g.select(at_pole, g.with_scalar("multiply", grad, math.inf), slope)
    beyond = math.nan if eps is None or eps < 0 else 0.0
    return g.select(outside, g.constant(beyond, x.dtype), inside)


@formula_of_all("log_sigmoid_backward")
def log_sigmoid_backward(g, grad, x, tail):
    return g.binary("multiply", grad, g.unary("logistic", g.unary("negate", x)))


@rule("_prelu_kernel_backward")
def prelu_backward(g, out, grad, x, weight):
    dtype = compute_dtype(out[0].dtype)
    grad, x, weight = (g.convert(value, dtype) for value in (grad, x, weight))
    positive = g.compare("GT", x, _zero(g, x))
    of_x = g.select(positive, grad, g.binary("multiply", weight, grad))
    of_weight = g.select(positive, _zero(g, x), g.binary("multiply", x, grad))
    return tuple(
        g.convert(g.broadcast(value, one.shape), one.dtype) for value, one in zip((of_x, of_weight), out))


@rule("glu_backward")
def glu_backward(g, out, grad, x, dim):
    dim = dim_of(dim, x.rank)
    half = x.shape[dim] // 2
    dtype = compute_dtype(x.dtype)
    wide, grad = g.convert(x, dtype), g.convert(grad, dtype)
    value = g.slice_dim(wide, dim, 0, half)
    gate = g.unary("logistic", g.slice_dim(wide, dim, half, 2 * half))
    of_value = g.binary("multiply", gate, grad)
    of_gate = g.binary("multiply", g.binary("multiply", _one_minus(g, gate), of_value), value)
    return g.convert(g.concatenate([of_value, of_gate], dim), out.dtype)


@formula_of_all("native_dropout_backward")
def dropout_backward(g, grad, mask, scale):
    return g.binary("multiply", g.binary("multiply", grad, mask), g.constant(scale, grad.dtype))
