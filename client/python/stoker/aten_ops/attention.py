"""Scaled dot-product attention, kept whole. Masks that follow from shapes alone are recognized: one that
keeps everything is dropped, a lower triangle becomes `causal`. Its gradients are products of their own, which
compute the scores again."""

import math

from .rules.registry import Unsupported, compute_dtype, rule


def _as_bool(mask):
    """The predicate of select(p, 0, -inf), which PyTorch makes of boolean masks, or the mask."""
    node = mask.node
    if node is not None and node.op == "select":
        predicate, kept, dropped = node.operands
        if kept.splat == 0 and dropped.splat == -math.inf:
            return predicate
    return mask


def _pattern(g, mask, queries, keys):
    """"full" or "causal" if the mask is known to be that for each batch and head, else None."""
    if mask not in g.facts:  # The layers of a model share one mask.
        g.facts[mask] = pattern_of(g.evaluate(mask), queries, keys)
    return g.facts[mask]


def pattern_of(known, queries, keys):
    """The same of a tensor; None: it is not known."""
    if known is None:
        return None
    import torch

    kept = known if known.dtype == torch.bool else known == 0
    if known.dtype != torch.bool and not bool((kept | (known == -math.inf)).all()):
        return None
    if bool(kept.all()):
        return "full"
    triangle = torch.ones(queries, keys, dtype=torch.bool).tril()
    if kept.shape[-2:] == triangle.shape and bool((kept == triangle).all()):
        return "causal"
    return None


def _scale(q, scale):
    return 1 / math.sqrt(q.shape[3]) if scale is None else scale


def attention(g, q, k, v, mask, causal, scale):
    if q.rank != 4:
        raise Unsupported(f"attention over {q.rank} dims")
    if not q.is_float or 0 in k.shape:
        raise Unsupported("attention over no keys, or over integers")
    batch = q.shape[0]
    k = g.broadcast(k, (batch, *k.shape[1:]))
    v = g.broadcast(v, (batch, *v.shape[1:]))
    if mask is not None:
        pattern = _pattern(g, mask, q.shape[2], k.shape[2])
        if pattern is not None:
            mask, causal = None, causal or pattern == "causal"
        else:
            mask = g.reshape(mask, (1,) * (4 - mask.rank) + mask.shape)
            mask = _as_bool(mask)
            mask = mask if mask.dtype == "bool" else g.convert(mask, q.dtype)
    return g.attention(q, k, v, mask, _scale(q, scale), bool(causal))


def _of_each_head(g, x, heads):
    """Keys or values, [batch, groups, keys, features], of each of the heads that share them."""
    batch, groups, *rest = x.shape
    if groups == heads:
        return x
    shared = g.broadcast(g.reshape(x, (batch, groups, 1, *rest)), (batch, groups, heads // groups, *rest))
    return g.reshape(shared, (batch, heads, *rest))


def _of_each_group(g, gradient, groups):
    """The other way round: the sum over the heads that share what it is the gradient of."""
    batch, heads, *rest = gradient.shape
    if groups == heads:
        return gradient
    return g.reduce("add", g.reshape(gradient, (batch, groups, heads // groups, *rest)), [2])


def _scores(g, q, k, mask, causal, scale):
    """What softmax takes, [batch, heads, queries, keys]; -inf where nothing is kept."""
    scores = g.dot(q, k, [0, 1], [3], [0, 1], [3])
    scores = g.with_scalar("multiply", scores, _scale(q, scale))
    nothing = g.constant(-math.inf, scores.dtype)
    if mask is not None:
        scores = (
            g.select(mask, scores, nothing) if mask.dtype == "bool"
            else g.binary("add", scores, g.convert(mask, scores.dtype)))
    if causal:
        kept = g.compare("GE", g.iota(2, "i32", scores.shape), g.iota(3, "i32", scores.shape))
        scores = g.select(kept, scores, nothing)
    return scores


def _log_sum_exp(g, q, k, mask, causal, scale):
    """Of each query's scores; 0 where nothing is kept."""
    dtype = compute_dtype(q.dtype)
    k = _of_each_head(g, g.broadcast(k, (q.shape[0], *k.shape[1:])), q.shape[1])
    scores = _scores(g, g.convert(q, dtype), g.convert(k, dtype), mask, causal, scale)
    highest = g.reduce("maximum", scores, [3], keepdim=True)
    kept = g.compare("NE", highest, g.constant(-math.inf, dtype))
    highest = g.select(kept, highest, g.constant(0, dtype))
    powers = g.unary("exponential", g.binary("subtract", scores, highest))
    total = g.select(kept, g.reduce("add", powers, [3], keepdim=True), g.constant(1, dtype))
    return g.reshape(g.binary("add", g.unary("log", total), highest), q.shape[:3])


def _require_taken(dropout_p, causal, scale):
    if dropout_p:
        raise Unsupported("dropout")
    if causal and scale is not None and scale <= 0:
        raise Unsupported("a scale that makes NaN of what a query may not see")


def _unused():
    raise Unsupported("what only the backward of attention needs")


@rule("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention_for_cpu(g, out, q, k, v, dropout_p=0.0, is_causal=False, attn_mask=None,
                            scale=None):
    _require_taken(dropout_p, is_causal, scale)
    return (
        attention(g, q, k, v, attn_mask, is_causal, scale),
        lambda: _log_sum_exp(g, q, k, attn_mask, is_causal, scale))


@rule("_scaled_dot_product_flash_attention", words=True)  # Of the state of random numbers.
def flash_attention(g, out, q, k, v, dropout_p=0.0, is_causal=False, return_debug_mask=False, scale=None):
    return _of_gpus(g, out, q, k, v, None, dropout_p, is_causal, return_debug_mask, scale)


@rule("_scaled_dot_product_efficient_attention")
def efficient_attention(g, out, q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, scale=None):
    return _of_gpus(g, out, q, k, v, attn_bias, dropout_p, is_causal, False, scale)


@rule("_scaled_dot_product_cudnn_attention")
def cudnn_attention(g, out, q, k, v, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False,
                    return_debug_mask=False, scale=None):
    return _of_gpus(g, out, q, k, v, attn_bias, dropout_p, is_causal, return_debug_mask, scale)


def _of_gpus(g, out, q, k, v, mask, dropout_p, causal, debugs, scale):
    """What forms for GPUs give; of the rest, which the backward is given, nothing can be made here."""
    _require_taken(dropout_p, causal, scale)
    if debugs:
        raise Unsupported("a mask to look at")
    return (attention(g, q, k, v, mask, causal, scale), *[_unused] * (len(out) - 1))


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_for_cpu_backward(g, out, grad, q, k, v, result, log_sum_exp, dropout_p, is_causal,
                                     attn_mask=None, scale=None):
    _require_taken(dropout_p, is_causal, scale)
    if q.shape[0] != k.shape[0] or 0 in q.shape or 0 in k.shape:
        raise Unsupported("gradients of attention over nothing, or over keys that batches share")
    narrow = q.dtype
    dtype = compute_dtype(narrow)
    groups = k.shape[1]
    k, v = (_of_each_head(g, x, q.shape[1]) for x in (k, v))
    grad, q, k, v, result = (g.convert(x, dtype) for x in (grad, q, k, v, result))
    scores = _scores(g, q, k, attn_mask, is_causal, scale)
    center = g.reshape(log_sum_exp, (*q.shape[:3], 1))
    weights = g.unary("exponential", g.binary("subtract", scores, center))
    kept = g.compare("NE", center, g.constant(-math.inf, dtype))  # What earlier versions of PyTorch give for nothing.
    weights = g.select(kept, weights, g.constant(0, dtype))
    own = g.reduce("add", g.binary("multiply", grad, result), [3], keepdim=True)
    of_weights = g.dot(grad, v, [0, 1], [3], [0, 1], [3])
    of_scores = g.binary("multiply", weights, g.binary("subtract", of_weights, own))
    of_scores = g.with_scalar("multiply", of_scores, _scale(q, scale))
    gradients = (
        g.dot(of_scores, k, [0, 1], [3], [0, 1], [2]),
        _of_each_group(g, g.dot(of_scores, q, [0, 1], [2], [0, 1], [2]), groups),
        _of_each_group(g, g.dot(weights, grad, [0, 1], [2], [0, 1], [2]), groups))
    return tuple(g.convert(x, narrow) for x in gradients)


@rule("_scaled_dot_product_fused_attention_overrideable")
def fused_attention(g, out, q, k, v, attn_bias=None, dropout_p=0.0, is_causal=False,
                    return_debug_mask=False, scale=None):
    if dropout_p:
        raise Unsupported("dropout")
    result = attention(g, q, k, v, attn_bias, is_causal, scale)
    return (result, *[_unused] * (len(out) - 1))


@rule("scaled_dot_product_attention")
def scaled_dot_product_attention(g, out, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    if dropout_p:
        raise Unsupported("dropout")
    return attention(g, q, k, v, attn_mask, is_causal, scale)


@rule("_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps")
def attention_math(g, out, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False,
                   dropout_mask=None, scale=None, enable_gqa=False):
    if dropout_p or dropout_mask is not None:
        raise Unsupported("dropout")
    return attention(g, q, k, v, attn_mask, is_causal, scale), _unused
