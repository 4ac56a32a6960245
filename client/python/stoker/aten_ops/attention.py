"""Scaled dot-product attention, kept whole. Masks that follow from shapes alone are recognized: one that
keeps everything is dropped, a lower triangle becomes `causal`."""

import math

from .registry import Unsupported, rule


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
        g.facts[mask] = _pattern_of(g.evaluate(mask), queries, keys)
    return g.facts[mask]


def _pattern_of(known, queries, keys):
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
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    return g.attention(q, k, v, mask, scale, bool(causal))


def _unused():
    raise Unsupported("what only the backward of attention needs")


@rule("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention_for_cpu(g, out, q, k, v, dropout_p=0.0, is_causal=False, attn_mask=None,
                            scale=None):
    if dropout_p:
        raise Unsupported("dropout")
    return attention(g, q, k, v, attn_mask, is_causal, scale), _unused


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
