"""Reductions and scans. Narrow floats are summed in f32, as PyTorch does."""

import math
from math import prod

from .registry import Unsupported, compute_dtype, dim_of, dims_of, rule


def _kept(g, value, out):
    return g.reshape(value, out.shape)


def total(g, x, dims, dtype, kind="add"):
    """A sum or product in a wide enough dtype; dims vanish."""
    return g.convert(g.reduce(kind, g.convert(x, compute_dtype(dtype)), dims), dtype)


@rule("sum", "sum.dim_IntList")
def sum_(g, out, x, dim=None, keepdim=False, dtype=None):
    return _kept(g, total(g, x, dims_of(dim, x.rank), out.dtype), out)


@rule("prod", "prod.dim_int")
def product(g, out, x, dim=None, keepdim=False, dtype=None):
    return _kept(g, total(g, x, dims_of(dim, x.rank), out.dtype, "multiply"), out)


def _size(x, dims):
    return prod(x.shape[dim] for dim in dims)


def mean_of(g, x, dims):
    """The mean of floats of a computing dtype; dims stay with size 1."""
    count = _size(x, dims)
    if count == 0:
        shape = tuple(1 if dim in dims else size for dim, size in enumerate(x.shape))
        return g.constant(math.nan, x.dtype, shape)
    return g.with_scalar("divide", g.reduce("add", x, dims, keepdim=True), count)


@rule("mean", "mean.dim")
def mean(g, out, x, dim=None, keepdim=False, dtype=None):
    wide = g.convert(x, compute_dtype(out.dtype))
    return _kept(g, g.convert(mean_of(g, wide, dims_of(dim, x.rank)), out.dtype), out)


def moments(g, x, dims, correction=0):
    """(mean, variance, centered x) in x's dtype; dims stay with size 1. As good as the numbers spread, however
    large their mean: differences from a mean that is off are exact, so what it is off by is their own mean."""
    guess = mean_of(g, x, dims)
    centered = g.binary("subtract", x, guess)
    rest = mean_of(g, centered, dims)
    squares = g.reduce("add", g.binary("multiply", centered, centered), dims, keepdim=True)
    off = g.binary("multiply", g.reduce("add", centered, dims, keepdim=True), rest)
    zero = g.constant(0, x.dtype)
    # Where squares overflow both may be infinite. Rounded, the difference may be below 0.
    off = g.select(g.predicate("is_finite", off), off, zero)
    squares = g.binary("maximum", g.binary("subtract", squares, off), zero)
    divisor = max(0, _size(x, dims) - correction)
    return (g.binary("add", guess, rest), g.with_scalar("divide", squares, divisor),
            g.binary("subtract", centered, rest))


def _correction(correction, unbiased):
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _variance(g, x, dim, correction, dtype):
    wide = g.convert(x, compute_dtype(dtype))
    average, variance, _ = moments(g, wide, dims_of(dim, x.rank), correction)
    return average, variance


@rule("var.correction", "var.dim", "var")
def var(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    variance = _variance(g, x, dim, _correction(correction, unbiased), out.dtype)[1]
    return _kept(g, g.convert(variance, out.dtype), out)


@rule("std.correction", "std.dim", "std")
def std(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    variance = _variance(g, x, dim, _correction(correction, unbiased), out.dtype)[1]
    return _kept(g, g.convert(g.unary("sqrt", variance), out.dtype), out)


@rule("var_mean.correction", "var_mean.dim", "var_mean")
def var_mean(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    average, variance = _variance(g, x, dim, _correction(correction, unbiased), out[0].dtype)
    return tuple(
        _kept(g, g.convert(value, one.dtype), one) for value, one in zip((variance, average), out))


@rule("std_mean.correction", "std_mean.dim", "std_mean")
def std_mean(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    average, variance = _variance(g, x, dim, _correction(correction, unbiased), out[0].dtype)
    values = g.unary("sqrt", variance), average
    return tuple(_kept(g, g.convert(value, one.dtype), one) for value, one in zip(values, out))


# ---- Extremes -------------------------------------------------------------------------------------


def extreme(g, kind, x, dims):
    if x.dtype == "bool":
        return g.reduce("or" if kind == "maximum" else "and", x, dims)
    return g.reduce(kind, x, dims)


def _extreme(kind):
    def emit(g, out, x, dim=(), keepdim=False):
        return _kept(g, extreme(g, kind, x, dims_of(dim, x.rank)), out)

    return emit


rule("amax", "max")(_extreme("maximum"))
rule("amin", "min")(_extreme("minimum"))


@rule("aminmax")
def aminmax(g, out, x, dim=None, keepdim=False):
    dims = dims_of(dim, x.rank)
    return tuple(
        _kept(g, extreme(g, kind, x, dims), one)
        for kind, one in zip(("minimum", "maximum"), out))


def arg_extreme(g, kind, x, dim, shape):
    if not x.rank:
        return g.constant(0, "i64", shape)
    x = g.convert(x, "u8") if x.dtype == "bool" else x
    return g.reshape(g.arg_reduce(kind, x, dim_of(dim, x.rank)), shape)


def _extreme_dim(kind):
    def emit(g, out, x, dim, keepdim=False):
        values, indices = out
        return (lambda: _kept(g, extreme(g, kind, x, dims_of(dim, x.rank)), values),
                lambda: arg_extreme(g, kind, x, dim, indices.shape))

    return emit


rule("max.dim")(_extreme_dim("maximum"))
rule("min.dim")(_extreme_dim("minimum"))


def _arg(kind):
    def emit(g, out, x, dim=None, keepdim=False):
        if dim is None:
            x, dim = g.reshape(x, (prod(x.shape),)), 0
        return arg_extreme(g, kind, x, dim, out.shape)

    return emit


rule("argmax")(_arg("maximum"))
rule("argmin")(_arg("minimum"))


def _logical(kind):
    def emit(g, out, x, dim=None, keepdim=False):
        dims = range(x.rank) if dim is None else dims_of(dim, x.rank)
        result = g.reduce(kind, g.convert(x, "bool"), dims)
        return g.reshape(g.convert(result, out.dtype), out.shape)

    return emit


rule("any", "any.dim", "any.dims")(_logical("or"))
rule("all", "all.dim", "all.dims")(_logical("and"))


# ---- Norms ----------------------------------------------------------------------------------------


def _norm(g, out, x, order, dim):
    dims = dims_of(dim, x.rank)
    size = g.unary("abs", g.convert(x, compute_dtype(out.dtype)))
    if order == math.inf:
        result = g.reduce("maximum", size, dims)
    elif order == -math.inf:
        result = g.reduce("minimum", size, dims)
    elif order == 0:
        nonzero = g.convert(g.compare("NE", size, g.constant(0, size.dtype)), size.dtype)
        result = g.reduce("add", nonzero, dims)
    elif order == 1:
        result = g.reduce("add", size, dims)
    elif order == 2:
        result = g.unary("sqrt", g.reduce("add", g.binary("multiply", size, size), dims))
    else:
        powers = g.reduce("add", g.with_scalar("power", size, order), dims)
        result = g.with_scalar("power", powers, 1 / order)
    if order in (math.inf, -math.inf) and _size(x, dims) == 0:
        raise Unsupported("a norm over nothing")
    return _kept(g, g.convert(result, out.dtype), out)


@rule("linalg_vector_norm")
def linalg_vector_norm(g, out, x, ord=2, dim=None, keepdim=False, dtype=None):
    return _norm(g, out, x, ord, dim)


@rule("norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype")
def norm(g, out, x, p=2, dim=None, keepdim=False, dtype=None):
    return _norm(g, out, x, 2 if p is None else p, dim)


# ---- Sums of exponentials -------------------------------------------------------------------------


def softmax_of(g, x, dims, log=False):
    peak = g.reduce("maximum", x, dims, keepdim=True)
    shifted = g.binary("subtract", x, peak)
    powers = g.unary("exponential", shifted)
    over = g.reduce("add", powers, dims, keepdim=True)
    if log:
        return g.binary("subtract", shifted, g.unary("log", over))
    return g.binary("divide", powers, over)


def _softmax(log):
    def emit(g, out, x, dim, half_to_float=False):
        if not x.rank:
            return g.constant(0 if log else 1, out.dtype)
        wide = g.convert(x, compute_dtype(out.dtype))
        return g.convert(softmax_of(g, wide, [dim_of(dim, x.rank)], log), out.dtype)

    return emit


rule("_softmax", "softmax.int")(_softmax(False))
rule("_log_softmax", "log_softmax.int")(_softmax(True))


@rule("_safe_softmax")
def safe_softmax(g, out, x, dim, dtype=None):
    """Rows of nothing but -inf give 0."""
    dims = [dim_of(dim, x.rank)]
    wide = g.convert(x, compute_dtype(out.dtype))
    nothing = g.compare(
        "EQ", g.reduce("maximum", wide, dims, keepdim=True), g.constant(-math.inf, wide.dtype))
    result = g.select(nothing, g.constant(0, wide.dtype), softmax_of(g, wide, dims))
    return g.convert(result, out.dtype)


@rule("logsumexp")
def logsumexp(g, out, x, dim, keepdim=False):
    dims = dims_of(dim, x.rank)
    if _size(x, dims) == 0:
        raise Unsupported("logsumexp over nothing")
    wide = g.convert(x, compute_dtype(out.dtype))
    peak = g.reduce("maximum", wide, dims, keepdim=True)
    # An infinite peak would give inf - inf.
    peak = g.select(g.predicate("is_finite", peak), peak, g.constant(0, peak.dtype))
    powers = g.unary("exponential", g.binary("subtract", wide, peak))
    result = g.binary("add", g.unary("log", g.reduce("add", powers, dims, keepdim=True)), peak)
    return _kept(g, g.convert(result, out.dtype), out)


# ---- Scans ----------------------------------------------------------------------------------------


def _scan(kind):
    def emit(g, out, x, dim, dtype=None):
        if not x.rank:
            return g.convert(x, out.dtype)
        wide = g.convert(x, compute_dtype(out.dtype))
        return g.convert(g.cumulative(kind, wide, dim_of(dim, x.rank)), out.dtype)

    return emit


rule("cumsum")(_scan("add"))
rule("cumprod")(_scan("multiply"))


def _extreme_scan(kind):
    def emit(g, out, x, dim):
        def indices():
            raise Unsupported("the places of running extremes")

        return (lambda: g.cumulative(kind, x, dim_of(dim, x.rank)) if x.rank else x, indices)

    return emit


rule("cummax")(_extreme_scan("maximum"))
rule("cummin")(_extreme_scan("minimum"))


# ---- Losses with a class index --------------------------------------------------------------------


@rule("nll_loss_forward")
def nll_loss(g, out, x, target, weight, reduction, ignore_index):
    """The picked log-probabilities through a comparison with every class."""
    dtype = compute_dtype(x.dtype)
    rank = x.rank
    if rank == 1:
        x, target = g.reshape(x, (1, *x.shape)), g.reshape(target, (1,))
    rows, classes = x.shape
    column = g.iota(1, target.dtype, (rows, classes))
    picked = g.compare("EQ", column, g.reshape(target, (rows, 1)))
    counted = g.compare("NE", target, g.constant(ignore_index, target.dtype))
    zero = g.constant(0, dtype)

    def pick(values):
        return g.reduce("add", g.select(picked, values, zero), [1])

    if weight is None:
        weights = g.select(counted, g.constant(1, dtype), zero)
    else:
        weights = pick(g.broadcast(g.convert(weight, dtype), (rows, classes)))
        weights = g.select(counted, weights, zero)
    losses = g.unary("negate", g.binary("multiply", pick(g.convert(x, dtype)), weights))
    losses = g.select(counted, losses, zero)
    # What is ignored stands for a class that there is.
    classed = g.select(counted, target, g.constant(0, target.dtype))
    losses = g.checked(
        losses, classed, 0, classes, f"Target {{index}} is out of bounds. There are {classes} classes.")
    over = g.reduce("add", weights, [0])
    if reduction == 0:
        shape = out[0].shape
        return (g.convert(g.reshape(losses, shape), out[0].dtype),
                g.constant(0, out[1].dtype, out[1].shape))
    loss = g.reduce("add", losses, [0])
    loss = g.binary("divide", loss, over) if reduction == 1 else loss
    return g.convert(loss, out[0].dtype), g.convert(over, out[1].dtype)
