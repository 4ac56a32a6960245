"""Normalization layers: formulas in f32 or better over the normalized dims."""

from math import prod

from .reductions import mean_of, moments
from .rules.registry import Unsupported, compute_dtype, rule


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


def _require_vectors(*parameters):
    if any(parameter is not None and parameter.rank != 1 for parameter in parameters):
        raise Unsupported("parameters that are no vectors")


def _batch_norm_inference(g, out, x, weight, bias, mean, variance, eps):
    """Scale and shift of each channel follow from parameters alone, so they are made once."""
    _require_vectors(weight, bias, mean, variance)
    dtype = compute_dtype(x.dtype)
    per_channel = (x.shape[1],) + (1,) * (x.rank - 2)
    scale = inverse = g.unary("rsqrt", g.with_scalar("add", g.convert(variance, dtype), eps))
    if weight is not None:
        scale = g.binary("multiply", scale, g.convert(weight, dtype))
    shift = g.unary("negate", g.binary("multiply", g.convert(mean, dtype), scale))
    if bias is not None:
        shift = g.binary("add", shift, g.convert(bias, dtype))
    result = _affine(g, g.convert(x, dtype), scale, shift, per_channel)
    kept = tuple(  # For the backward: on the CPU, nothing.
        one and (g.constant_like(0, one) if 0 in one.shape else g.convert(each, one.dtype))
        for one, each in zip(out[1:], (mean, inverse)))
    return (g.convert(result, out[0].dtype), *kept)


@rule("_native_batch_norm_legit_no_training")
def batch_norm_no_training(g, out, x, weight, bias, mean, variance, momentum, eps):
    return _batch_norm_inference(g, out, x, weight, bias, mean, variance, eps)


def _batch_statistics(g, out, x, weight, bias, eps):
    _require_vectors(weight, bias)
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
        _require_vectors(mean, variance)
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
    _require_vectors(mean, variance)
    results = _batch_statistics(g, out[:3], x, weight, bias, eps)
    dims = [dim for dim in range(x.rank) if dim != 1]
    count = prod(x.shape[dim] for dim in dims)
    wide = g.convert(x, compute_dtype(x.dtype))
    _, spread, _ = moments(g, wide, dims, correction=1 if count > 1 else 0)
    average = mean_of(g, wide, dims)  # That of moments() is NaN where this is infinite.
    shape = out[3].shape
    return (*results, _running(g, mean, g.reshape(average, shape), momentum, out[3].dtype),
            _running(g, variance, g.reshape(spread, shape), momentum, out[4].dtype))


# ---- Gradients ------------------------------------------------------------------------------------


def _gradients(g, grad, normalized, scale, weight, shape, dims):
    """Of x, as x = normalized / scale + mean over `dims`: all in a computing dtype; weight of `shape`, or None."""
    if weight is not None:
        grad = g.binary("multiply", grad, g.reshape(g.convert(weight, grad.dtype), shape))
    along = mean_of(g, grad, dims)
    across = mean_of(g, g.binary("multiply", grad, normalized), dims)
    rest = g.binary("subtract", g.binary("subtract", grad, along), g.binary("multiply", normalized, across))
    return g.binary("multiply", rest, scale)


def _asked(g, out, mask, makers):
    """The results that the mask asks for."""
    def made(make, one):
        return lambda: g.convert(g.reshape(make(), one.shape), one.dtype)

    return tuple(
        made(make, one) if wanted and one is not None else None
        for wanted, make, one in zip(mask, makers, out))


@rule("native_layer_norm_backward")
def native_layer_norm_backward(g, out, grad, x, normalized_shape, mean, scale, weight, bias, output_mask):
    dtype = compute_dtype(x.dtype)
    first = x.rank - len(normalized_shape)
    inner, outer = range(first, x.rank), range(first)
    grad, mean, scale = (g.convert(value, dtype) for value in (grad, mean, scale))
    normalized = g.binary("multiply", g.binary("subtract", g.convert(x, dtype), mean), scale)
    return _asked(g, out, output_mask, (
        lambda: _gradients(g, grad, normalized, scale, weight, tuple(normalized_shape), inner),
        lambda: g.reduce("add", g.binary("multiply", grad, normalized), outer),
        lambda: g.reduce("add", grad, outer)))


@rule("_fused_rms_norm_backward")
def fused_rms_norm_backward(g, out, grad, x, normalized_shape, scale, weight, output_mask):
    dtype = compute_dtype(x.dtype)
    first = x.rank - len(normalized_shape)
    inner, outer = range(first, x.rank), range(first)
    grad, scale = g.convert(grad, dtype), g.convert(scale, dtype)
    normalized = g.binary("multiply", g.convert(x, dtype), scale)

    def of_x():
        steep = grad if weight is None else g.binary("multiply", grad, g.convert(weight, dtype))
        across = mean_of(g, g.binary("multiply", steep, normalized), inner)
        return g.binary("multiply", g.binary("subtract", steep, g.binary("multiply", normalized, across)), scale)

    return _asked(g, out, output_mask, (
        of_x, lambda: g.reduce("add", g.binary("multiply", grad, normalized), outer)))


@rule("native_group_norm_backward")
def native_group_norm_backward(
        g, out, grad, x, mean, scale, weight, batch, channels, places, groups, output_mask):
    dtype = compute_dtype(x.dtype)
    shape = (batch, groups, channels // groups, places)
    grad, x = (g.reshape(g.convert(value, dtype), shape) for value in (grad, x))
    mean, scale = (g.reshape(g.convert(value, dtype), (batch, groups, 1, 1)) for value in (mean, scale))
    normalized = g.binary("multiply", g.binary("subtract", x, mean), scale)
    per_channel = (groups, channels // groups, 1)
    return _asked(g, out, output_mask, (
        lambda: _gradients(g, grad, normalized, scale, weight, per_channel, [2, 3]),
        lambda: g.reduce("add", g.binary("multiply", grad, normalized), [0, 3]),
        lambda: g.reduce("add", grad, [0, 3])))


@rule("native_batch_norm_backward")
def native_batch_norm_backward(
        g, out, grad, x, weight, running_mean, running_var, save_mean, save_scale, train, eps, output_mask):
    dtype = compute_dtype(x.dtype)
    per_channel = (x.shape[1],) + (1,) * (x.rank - 2)
    dims = [dim for dim in range(x.rank) if dim != 1]
    if train:
        mean, scale = g.convert(save_mean, dtype), g.convert(save_scale, dtype)
    else:
        mean = g.convert(running_mean, dtype)
        scale = g.unary("rsqrt", g.with_scalar("add", g.convert(running_var, dtype), eps))
    grad, x = g.convert(grad, dtype), g.convert(x, dtype)
    scale = g.reshape(scale, per_channel)
    normalized = g.binary("multiply", g.binary("subtract", x, g.reshape(mean, per_channel)), scale)

    def of_x():
        if train:
            return _gradients(g, grad, normalized, scale, weight, per_channel, dims)
        return g.binary("multiply", _affine(g, grad, weight, None, per_channel), scale)

    return _asked(g, out, output_mask, (
        of_x,
        lambda: g.reduce("add", g.binary("multiply", grad, normalized), dims),
        lambda: g.reduce("add", grad, dims)))


@rule("batch_norm_backward")
def batch_norm_backward(
        g, out, grad, x, weight, running_mean, running_var, save_mean, save_scale, update, eps,
        output_mask, reserve):
    return native_batch_norm_backward(
        g, out, grad, x, weight, running_mean, running_var, save_mean, save_scale, update, eps, output_mask)


@rule("_batch_norm_with_update_functional")
def batch_norm_with_update(g, out, x, weight, bias, mean, variance, momentum, eps):
    """The fourth result is what other devices keep for the backward."""
    *results, new_mean, new_variance = batch_norm_functional(
        g, (*out[:3], *out[4:]), x, weight, bias, mean, variance, True, momentum, eps)
    return (*results, g.constant(0, out[3].dtype, out[3].shape), new_mean, new_variance)
