"""Reductions and scans. Narrow floats are summed in f32, as PyTorch does."""

import math
from math import prod

from ..graph.values import FLOATS, INTEGER_LIMITS
from .rules.registry import Unsupported, compute_dtype, dim_of, dims_of, rule


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


def identity_of(kind, dtype):
    """What a reduction of this kind starts from."""
    if kind in ("add", "multiply"):
        return int(kind == "multiply")
    if dtype in FLOATS:
        return -math.inf if kind == "maximum" else math.inf
    return INTEGER_LIMITS[dtype][kind == "minimum"]


@rule("nansum")
def nansum(g, out, x, dim=None, keepdim=False, dtype=None):
    if x.is_float:
        x = g.select(g.predicate("is_nan", x), g.constant(0, x.dtype), x)
    return sum_(g, out, x, dim)


@rule("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(g, out, x, dim=None):
    return sum_(g, out, g.convert(x, "bool"), dim)


@rule("trace")
def trace(g, out, x):
    """The sum of what the main diagonal keeps of each row."""
    on = g.compare("EQ", g.iota(0, "i64", x.shape), g.iota(1, "i64", x.shape))
    return total(g, g.select(on, x, g.constant(0, x.dtype)), [0, 1], out.dtype)


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
    mean = guess if _size(x, dims) == 1 else g.binary("add", guess, rest)  # Of an infinity by itself too.
    return mean, g.with_scalar("divide", squares, divisor), g.binary("subtract", centered, rest)


def _correction(correction, unbiased):
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _variance(g, x, dim, correction, dtype):
    average, variance, _ = moments(g, g.convert(x, dtype), dims_of(dim, x.rank), correction)
    return average, variance


def _deviation(g, x, dim, correction, dtype):
    """(mean, standard deviation), where a number's square may be none: as in PyTorch, whose kernels for CPUs take f64."""
    wide = "f64" if g.has_fast_f64 else compute_dtype(dtype)
    average, variance = _variance(g, x, dim, correction, wide)
    return average, g.unary("sqrt", variance)


@rule("var.correction", "var.dim", "var")
def var(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    variance = _variance(g, x, dim, _correction(correction, unbiased), compute_dtype(out.dtype))[1]
    return _kept(g, g.convert(variance, out.dtype), out)


@rule("std.correction", "std.dim", "std")
def std(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    deviation = _deviation(g, x, dim, _correction(correction, unbiased), out.dtype)[1]
    return _kept(g, g.convert(deviation, out.dtype), out)


@rule("var_mean.correction", "var_mean.dim", "var_mean")
def var_mean(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    average, variance = _variance(g, x, dim, _correction(correction, unbiased), compute_dtype(out[0].dtype))
    return tuple(
        _kept(g, g.convert(value, one.dtype), one) for value, one in zip((variance, average), out))


@rule("std_mean.correction", "std_mean.dim", "std_mean")
def std_mean(g, out, x, dim=None, unbiased=None, keepdim=False, correction=None):
    average, deviation = _deviation(g, x, dim, _correction(correction, unbiased), out[0].dtype)
    return tuple(_kept(g, g.convert(value, one.dtype), one) for value, one in zip((deviation, average), out))


# ---- Extremes -------------------------------------------------------------------------------------


def extreme(g, kind, x, dims):
    if _size(x, dims) == 0:
        raise Unsupported("an extreme of nothing")
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


def norm_of(g, x, order, dims):
    """Of floats of a computing dtype; the dims vanish."""
    dims = list(dims)
    size = g.unary("abs", x)
    if order in (math.inf, -math.inf):
        if _size(x, dims) == 0:
            raise Unsupported("a norm over nothing")
        return g.reduce("maximum" if order > 0 else "minimum", size, dims)
    if order == 0:
        nonzero = g.convert(g.compare_with("NE", size, 0), size.dtype)
        return g.reduce("add", nonzero, dims)
    if order == 1 or order and _size(x, dims) == 1:  # The square of one number may be none.
        return g.reduce("add", size, dims)
    if order == 2:
        return g.unary("sqrt", g.reduce("add", g.binary("multiply", size, size), dims))
    powers = g.reduce("add", g.with_scalar("power", size, order), dims)
    return g.with_scalar("power", powers, 1 / order)


def shortening(g, length, limit):
    """What to multiply vectors by that are longer than a limit, so that they are not, as nearly as PyTorch does; 1 for
    others."""
    limit = g.constant(limit, length.dtype)
    shorter = g.binary("divide", limit, g.with_scalar("add", length, 1e-7))
    return g.select(g.compare("GT", length, limit), shorter, g.constant(1, length.dtype))


def _norm(g, out, x, order, dim):
    wide = g.convert(x, compute_dtype(out.dtype))
    return _kept(g, g.convert(norm_of(g, wide, order, dims_of(dim, x.rank)), out.dtype), out)


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
        wide = g.convert(x, compute_dtype(out.dtype))
        return g.convert(softmax_of(g, wide, dims_of([dim], x.rank), log), out.dtype)

    return emit


rule("_softmax", "softmax.int")(_softmax(False))
rule("_log_softmax", "log_softmax.int")(_softmax(True))


@rule("_safe_softmax")
def safe_softmax(g, out, x, dim, dtype=None):
    """Rows of nothing but -inf give 0."""
    dims = dims_of([dim], x.rank)
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
rule("logcumsumexp")(_scan("log_add_exp"))


def _extreme_scan(kind):
    def emit(g, out, x, dim):
        if not x.rank:
            return x, g.constant(0, "i64")
        dim = dim_of(dim, x.rank)

        def indices():
            """Of the last element that was no less extreme than those before, or a NaN."""
            wide = g.convert(x, "u8") if x.dtype == "bool" else x
            taken = g.compare("EQ", wide, g.cumulative(kind, wide, dim))
            if x.is_float:
                taken = g.binary("or", taken, g.predicate("is_nan", x))
            place = g.select(taken, g.iota(dim, "i64", x.shape), g.constant(0, "i64"))
            return g.cumulative("maximum", place, dim)

        return lambda: g.cumulative(kind, x, dim), indices

    return emit


rule("cummax")(_extreme_scan("maximum"))
rule("cummin")(_extreme_scan("minimum"))


# ---- What softmax's gradients reduce ----------------------------------------------------------------


def _softmax_backward(log):
    def emit(g, out, grad, result, dim, input_dtype):
        dtype = compute_dtype(grad.dtype)
        dims = [dim_of(dim, grad.rank)] if grad.rank else []
        grad, result = g.convert(grad, dtype), g.convert(result, dtype)
        if log:
            over = g.reduce("add", grad, dims, keepdim=True)
            rest = g.binary("subtract", grad, g.binary("multiply", g.unary("exponential", result), over))
        else:
            weighted = g.binary("multiply", grad, result)
            over = g.reduce("add", weighted, dims, keepdim=True)
            rest = g.binary("subtract", weighted, g.binary("multiply", result, over))
        return g.convert(rest, out.dtype)

    return emit


rule("_softmax_backward_data")(_softmax_backward(False))
rule("_log_softmax_backward_data")(_softmax_backward(True))
