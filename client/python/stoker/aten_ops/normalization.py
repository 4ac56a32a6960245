"""Normalization layers: formulas in f32 or better over the normalized dims."""

from math import prod

from .reductions import mean_of, moments
from .registry import compute_dtype, rule


def _affine(g, x, weight, bias, shape):
    """x * weight + bias, both reshaped to `shape` and absent where None."""
    if weight is not None:
        x = g.binary("multiply", x, g.reshape(g.convert(weight, x.dtype), shape))
    if bias is not None:
        x = g.binary("add", x, g.reshape(g.convert(bias, x.dtype), shape))
    return x


def _normalized(g, x, dims, eps):
    """(normalized x, mean, 1 / standard deviation) in x's dtype."""
    average, variance, centered = moments(g, x, dims)
    scale = g.unary("rsqrt", g.with_scalar("add", variance, eps))
    return g.binary("multiply", centered, scale), average, scale


def _results(g, values, out):
    return tuple(
        None if one is None else g.reshape(g.convert(value, one.dtype), one.shape)
        for value, one in zip(values, out))


@rule("native_layer_norm")
def native_layer_norm(g, out, x, normalized_shape, weight, bias, eps):
    rank = len(normalized_shape)
    wide = g.convert(x, compute_dtype(x.dtype))
    result, average, scale = _normalized(g, wide, range(x.rank - rank, x.rank), eps)
    result = _affine(g, result, weight, bias, tuple(normalized_shape))
    return _results(g, (result, average, scale), out)


@rule("layer_norm")
def layer_norm(g, out, x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return native_layer_norm(g, (out,), x, normalized_shape, weight, bias, eps)[0]


@rule("_fused_rms_norm")
def fused_rms_norm(g, out, x, normalized_shape, weight=None, eps=None):
    dtype = compute_dtype(x.dtype)
    if eps is None:
        eps = {"f64": 2.220446049250313e-16}.get(dtype, 1.1920928955078125e-07)
    wide = g.convert(x, dtype)
    dims = range(x.rank - len(normalized_shape), x.rank)
    squares = mean_of(g, g.binary("multiply", wide, wide), dims)
    scale = g.unary("rsqrt", g.with_scalar("add", squares, eps))
    result = _affine(g, g.binary("multiply", wide, scale), weight, None, tuple(normalized_shape))
    return _results(g, (result, scale), out)


@rule("native_group_norm")
def native_group_norm(g, out, x, weight, bias, batch, channels, places, groups, eps):
    wide = g.reshape(
        g.convert(x, compute_dtype(x.dtype)), (batch, groups, channels // groups * places))
    result, average, scale = _normalized(g, wide, [2], eps)
    result = g.reshape(result, (batch, channels, *x.shape[2:]))
    result = _affine(g, result, weight, bias, (channels,) + (1,) * (x.rank - 2))
    return _results(g, (result, average, scale), out)


def _batch_norm_inference(g, out, x, weight, bias, mean, variance, eps):
    """Scale and shift of each channel follow from parameters alone, so they are made once."""
    dtype = compute_dtype(x.dtype)
    per_channel = (x.shape[1],) + (1,) * (x.rank - 2)
    scale = g.unary("rsqrt", g.with_scalar("add", g.convert(variance, dtype), eps))
    if weight is not None:
        scale = g.binary("multiply", scale, g.convert(weight, dtype))
    shift = g.unary("negate", g.binary("multiply", g.convert(mean, dtype), scale))
    if bias is not None:
        shift = g.binary("add", shift, g.convert(bias, dtype))
    result = _affine(g, g.convert(x, dtype), scale, shift, per_channel)
    nothing = tuple(
        one and g.constant(0, one.dtype, one.shape) for one in out[1:] if one is None or 0 in one.shape)
    return (g.convert(result, out[0].dtype), *nothing)


@rule("_native_batch_norm_legit_no_training")
def batch_norm_no_training(g, out, x, weight, bias, mean, variance, momentum, eps):
    return _batch_norm_inference(g, out, x, weight, bias, mean, variance, eps)


def _batch_statistics(g, out, x, weight, bias, eps):
    dims = [dim for dim in range(x.rank) if dim != 1]
    result, average, scale = _normalized(g, g.convert(x, compute_dtype(x.dtype)), dims, eps)
    result = _affine(g, result, weight, bias, (x.shape[1],) + (1,) * (x.rank - 2))
    return _results(g, (result, average, scale), out)


@rule("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(g, out, x, weight, bias, training, momentum, eps):
    return _batch_statistics(g, out, x, weight, bias, eps)


@rule("native_batch_norm")
def native_batch_norm(g, out, x, weight, bias, mean, variance, training, momentum, eps):
    if training:
        return _batch_statistics(g, out, x, weight, bias, eps)
    return _batch_norm_inference(g, out, x, weight, bias, mean, variance, eps)


def _running(g, old, new, momentum, dtype):
    old = g.convert(old, new.dtype)
    return g.convert(
        g.binary("add", g.with_scalar("multiply", old, 1 - momentum),
                 g.with_scalar("multiply", new, momentum)), dtype)


@rule("_native_batch_norm_legit_functional")
def batch_norm_functional(g, out, x, weight, bias, mean, variance, training, momentum, eps):
    """The last two results are the running statistics after this batch."""
    if not training:
        inference = _batch_norm_inference(g, out[:3], x, weight, bias, mean, variance, eps)
        return (*inference, mean, variance)
    results = _batch_statistics(g, out[:3], x, weight, bias, eps)
    dims = [dim for dim in range(x.rank) if dim != 1]
    count = prod(x.shape[dim] for dim in dims)
    wide = g.convert(x, compute_dtype(x.dtype))
    average, spread, _ = moments(g, wide, dims, correction=1 if count > 1 else 0)
    shape = out[3].shape
    return (*results, _running(g, mean, g.reshape(average, shape), momentum, out[3].dtype),
            _running(g, variance, g.reshape(spread, shape), momentum, out[4].dtype))
