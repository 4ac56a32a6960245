"""Losses and their gradients: formulas in f32 or better, rounded once."""

import math

from .arithmetic import both
from .rules.formulas import formula_of_all
from .rules.registry import compute_dtype, rule


def _reduced(g, loss, reduction, dtype):
    """PyTorch's reduction codes: 0 none, 1 mean, 2 sum."""
    if reduction == 0:
        return g.convert(loss, dtype)
    count = math.prod(loss.shape)
    total = g.reduce("add", loss, range(loss.rank))
    return g.convert(g.with_scalar("divide", total, count) if reduction == 1 else total, dtype)


@rule("mse_loss")
def mse_loss(g, out, x, target, reduction=1):
    dtype = compute_dtype(out.dtype)
    difference = g.binary("subtract", *both(g, out, x, target, dtype))
    return _reduced(g, g.binary("multiply", difference, difference), reduction, out.dtype)


@rule("smooth_l1_loss")
def smooth_l1_loss(g, out, x, target, reduction=1, beta=1.0):
    dtype = compute_dtype(out.dtype)
    size = g.unary("abs", g.binary("subtract", *both(g, out, x, target, dtype)))
    if beta == 0:
        return _reduced(g, size, reduction, out.dtype)
    near = g.with_scalar(
        "divide", g.with_scalar("multiply", g.binary("multiply", size, size), 0.5), beta)
    far = g.with_scalar("subtract", size, 0.5 * beta)
    loss = g.select(g.compare("LT", size, g.constant(beta, dtype)), near, far)
    return _reduced(g, loss, reduction, out.dtype)


@rule("huber_loss")
def huber_loss(g, out, x, target, reduction=1, delta=1.0):
    dtype = compute_dtype(out.dtype)
    size = g.unary("abs", g.binary("subtract", *both(g, out, x, target, dtype)))
    near = g.with_scalar("multiply", g.binary("multiply", size, size), 0.5)
    far = g.with_scalar("multiply", g.with_scalar("subtract", size, 0.5 * delta), delta)
    loss = g.select(g.compare("LE", size, g.constant(delta, dtype)), near, far)
    return _reduced(g, loss, reduction, out.dtype)


@rule("soft_margin_loss")
def soft_margin_loss(g, out, x, target, reduction=1):
    dtype = compute_dtype(out.dtype)
    product = g.binary("multiply", *both(g, out, x, target, dtype))
    loss = g.unary("log_plus_one", g.unary("exponential", g.unary("negate", product)))
    return _reduced(g, loss, reduction, out.dtype)


@rule("binary_cross_entropy")
def binary_cross_entropy(g, out, x, target, weight=None, reduction=1):
    """Logarithms of chances are no less than -100, as PyTorch's."""
    dtype = compute_dtype(out.dtype)
    x, target = g.convert(x, dtype), g.convert(target, dtype)
    bound = -100
    of_rest = g.with_scalar("maximum", g.unary("log_plus_one", g.unary("negate", x)), bound)
    of_x = g.with_scalar("maximum", g.unary("log", x), bound)
    loss = g.binary(
        "subtract", g.binary("multiply", g.with_scalar("subtract", target, 1), of_rest),
        g.binary("multiply", target, of_x))
    if weight is not None:
        loss = g.binary("multiply", loss, g.convert(weight, dtype))
    for name, chances in (("input", x), ("target", target)):
        inside = g.binary(
            "and", g.compare("GE", chances, g.constant(0, dtype)), g.compare("LE", chances, g.constant(1, dtype)))
        outside = g.convert(g.unary("not", inside), "i64")
        loss = g.checked(loss, outside, 0, 1, f"all elements of {name} should be between 0 and 1")
    return _reduced(g, loss, reduction, out.dtype)


@rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(g, out, x, target, weight=None, pos_weight=None, reduction=1):
    dtype = compute_dtype(out.dtype)
    x, target = g.convert(x, dtype), g.convert(target, dtype)
    tail = g.unary("exponential", g.unary("negate", g.unary("abs", x)))
    chance = g.binary("subtract", g.with_scalar("minimum", x, 0), g.unary("log_plus_one", tail))
    if pos_weight is not None:
        more = g.with_scalar("subtract", g.convert(pos_weight, dtype), 1)
        chance = g.binary("multiply", g.with_scalar("add", g.binary("multiply", more, target), 1), chance)
    rest = g.binary("multiply", g.binary("subtract", g.constant(1, dtype), target), x)
    loss = g.binary("subtract", rest, chance)
    if weight is not None:
        loss = g.binary("multiply", loss, g.convert(weight, dtype))
    return _reduced(g, loss, reduction, out.dtype)


# ---- Their gradients ------------------------------------------------------------------------------


def _of_each(g, grad, slope, x, target, reduction):
    """The gradient of each element of x, where its loss has this slope: a share of that of a mean."""
    if reduction == 1:
        count = math.prod(max(x.shape, target.shape, key=math.prod))
        slope = g.with_scalar("multiply", slope, 1 / count if count else math.nan)
    return g.binary("multiply", slope, grad)


@formula_of_all("mse_loss_backward")
def mse_loss_backward(g, grad, x, target, reduction):
    difference = g.binary("subtract", x, target)
    return _of_each(g, grad, g.with_scalar("multiply", difference, 2), x, target, reduction)


def _bounded(g, x, low, high):
    """x between low and high, which a NaN keeps."""
    return g.with_scalar("minimum", g.with_scalar("maximum", x, low), high)


@formula_of_all("smooth_l1_loss_backward")
def smooth_l1_loss_backward(g, grad, x, target, reduction, beta):
    difference = g.binary("subtract", x, target)
    if beta == 0:
        slope = g.unary("sign", difference)
    else:
        slope = _bounded(g, g.with_scalar("divide", difference, beta), -1, 1)
    return _of_each(g, grad, slope, x, target, reduction)


@formula_of_all("huber_loss_backward")
def huber_loss_backward(g, grad, x, target, reduction, delta):
    slope = _bounded(g, g.binary("subtract", x, target), -delta, delta)
    return _of_each(g, grad, slope, x, target, reduction)


@formula_of_all("binary_cross_entropy_backward")
def binary_cross_entropy_backward(g, grad, x, target, weight=None, reduction=1):
    spread = g.binary("multiply", g.binary("subtract", g.constant(1, x.dtype), x), x)
    slope = g.binary(
        "divide", g.binary("subtract", x, target), g.with_scalar("maximum", spread, 1e-12))
    if weight is not None:
        slope = g.binary("multiply", slope, weight)
    return _of_each(g, grad, slope, x, target, reduction)


@formula_of_all("soft_margin_loss_backward")
def soft_margin_loss_backward(g, grad, x, target, reduction):
    negated = g.unary("negate", target)
    slope = g.binary("multiply", negated, g.unary("logistic", g.binary("multiply", negated, x)))
    return _of_each(g, grad, slope, x, target, reduction)


# ---- Losses with a class index --------------------------------------------------------------------


class _Classes:
    """Which class each target picks, by a comparison with every class: in x [N, classes, ...], or in x [classes]."""

    def __init__(self, g, x, target, ignore_index, dtype):
        self.g, self.dtype = g, dtype
        self.shape = x.shape if x.rank > 1 else (1, *x.shape)
        self.classes = self.shape[1]
        self.target = g.reshape(target, (self.shape[0], *self.shape[2:]))
        column = g.iota(1, target.dtype, self.shape)
        apart = g.reshape(self.target, (self.shape[0], 1, *self.shape[2:]))
        self.picked = g.compare("EQ", column, apart)
        self.counted = g.compare("NE", self.target, g.constant(ignore_index, target.dtype))

    def pick(self, values):
        """Of values in x's shape, or one for each class."""
        g, zero = self.g, self.g.constant(0, self.dtype)
        if values.rank == 1 and len(self.shape) > 1:
            values = g.broadcast_in_dim(values, [1], self.shape)
        return g.reduce("add", g.select(self.picked, values, zero), [1])

    def weights(self, weight):
        """Of the rows; 0 for what is ignored."""
        g = self.g
        one = g.constant(1, self.dtype) if weight is None else self.pick(g.convert(weight, self.dtype))
        return g.select(self.counted, one, g.constant(0, self.dtype))


@rule("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(g, out, x, target, weight, reduction, ignore_index):
    dtype = compute_dtype(x.dtype)
    rows = _Classes(g, x, target, ignore_index, dtype)
    weights = rows.weights(weight)
    picked = rows.pick(g.reshape(g.convert(x, dtype), rows.shape))
    losses = g.unary("negate", g.binary("multiply", picked, weights))
    losses = g.select(rows.counted, losses, g.constant(0, dtype))
    # What is ignored stands for a class that there is.
    classed = g.select(rows.counted, rows.target, g.constant(0, target.dtype))
    losses = g.checked(
        losses, classed, 0, rows.classes,
        f"Target {{index}} is out of bounds. There are {{size}} classes.")
    over = g.reduce("add", weights, range(weights.rank))
    if reduction == 0:
        return (g.convert(g.reshape(losses, out[0].shape), out[0].dtype),
                g.constant(0, out[1].dtype, out[1].shape))
    loss = g.reduce("add", losses, range(losses.rank))
    loss = g.binary("divide", loss, over) if reduction == 1 else loss
    return g.convert(loss, out[0].dtype), g.convert(over, out[1].dtype)


@rule("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(g, out, grad, x, target, weight, reduction, ignore_index, total_weight):
    dtype = compute_dtype(out.dtype)
    rows = _Classes(g, x, target, ignore_index, dtype)
    grad = g.convert(grad, dtype)
    if reduction == 1:
        grad = g.binary("divide", grad, g.convert(total_weight, dtype))
    grad = g.broadcast(grad, rows.target.shape) if reduction else g.reshape(grad, rows.target.shape)
    each = g.unary("negate", g.binary("multiply", rows.weights(weight), grad))
    each = g.select(rows.counted, each, g.constant(0, dtype))
    apart = g.reshape(each, (rows.shape[0], 1, *rows.shape[2:]))
    result = g.select(rows.picked, apart, g.constant(0, dtype))
    return g.convert(g.reshape(result, out.shape), out.dtype)
