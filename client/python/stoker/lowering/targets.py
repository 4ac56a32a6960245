"""What a kind of device runs, of what a graph can say: the one place that tells what PyTorch's own kernels do there."""

import torch

from ..graph.devices import device_of
from . import masks
from .convolutions import taken_apart
from .counted import COUNTING
from .epilogues import FUSED, fused
from .siblings import merged
from .strides import without_restriding
from .symbols import has_sizes, with_dims

# Operations that a target has no kernel for. An operator whose rule needs one is a call of PyTorch, whole: its libraries'
# kernels are why.
ABSENT = {
    "cpu": frozenset(),
    "cuda": frozenset(("convolution", "cumulative", "dynamic_update_slice", "scan", "scatter", "sort", "top_k", "while")),
}
# Attention as PyTorch calls it there.
ATTENTION = {
    device: frozenset(
        f"aten._scaled_dot_product_{attention}{suffix}.default" for attention in kinds for suffix in ("", "_backward"))
    for device, kinds in (
        ("cpu", ("flash_attention_for_cpu",)), ("cuda", ("flash_attention", "efficient_attention", "cudnn_attention")))
}
# Operators without a rule that libraries are there for: no fallbacks either.
OF_LIBRARIES = {"cpu": frozenset(), "cuda": ATTENTION["cuda"] | {str(FUSED)}}

# Of attention on GPUs: what tensor cores multiply, and numbers of a head, one and both sorts, that registers hold.
_ATTENDED = ("bf16", "f16")
_MOST_OF_HEAD, _MOST_OF_BOTH, _STEP_OF_HEAD = 128, 192, 16
# Kernels of PyTorch's libraries multiply at twice the rate, and take longer to begin and for what is copied behind them. So
# many keys of heads of 64 numbers take as long on one H200 as with them; where each multiprocessor has one block at most,
# which has 64 queries, so many.
MOST_KEYS, MOST_KEYS_OF_FEW = 128, 512
_FEW, _QUERIES_OF_BLOCK = 132, 64


def has_attention(device_type, q, k, v, mask):
    """Has the target a kernel for it, and is that the best there is?"""
    if device_type == "cpu":
        return True
    if mask is not None or q.dtype not in _ATTENDED or {k.dtype, v.dtype} != {q.dtype}:
        return False
    heads, keys = (q.shape[3], v.shape[3]), k.shape[2]
    if not all(type(size) is int for size in (*heads, keys)) or not 0 < min(*heads, keys) or max(heads) > _MOST_OF_HEAD:
        return False
    fits = _have_step(heads, 2 * _STEP_OF_HEAD) or _have_step(heads, _STEP_OF_HEAD) and sum(heads) <= _MOST_OF_BOTH
    work = keys * sum(heads) // 128
    return fits and (work <= MOST_KEYS or work <= MOST_KEYS_OF_FEW and _is_of_few_blocks(q.shape))


def _is_of_few_blocks(shape):
    batch, heads, queries, _ = shape
    return all(type(size) is int for size in shape) and batch * heads * -(-queries // _QUERIES_OF_BLOCK) <= _FEW


def _have_step(heads, step):
    return all(head % step == 0 for head in heads)


def left_out(gm):
    """Names of the fx nodes of a graph with symbolic sizes that as_run() leaves out, whatever the sizes are."""
    attention = ATTENTION[device_of(gm).type]
    if not any(node.target in COUNTING or str(node.target) in attention for node in gm.graph.nodes):
        return frozenset()
    kept = masks.without_known_masks(without_restriding(with_dims(gm)), attention)
    return {node.name for node in gm.graph.nodes} - {node.name for node in kept.graph.nodes}


def held(gm, parameters, is_training):
    """Those of the parameters that are looked at as such. In training they change in every step: binding them, as is done
    on the CPU, would not pay."""
    return () if is_training and device_of(gm).type == "cpu" else parameters


def as_run(gm):
    """The graph, or one that computes the same, with operators taken apart of which kernels can do a part, and given no more
    than they need."""
    gm = without_restriding(gm)
    device_type = device_of(gm).type
    if "convolution" in ABSENT[device_type] and all(has_sizes(each) for each in gm.graph.nodes):
        gm = taken_apart(fused(gm))
    return merged(masks.without_known_masks(gm, ATTENTION[device_type]), OF_LIBRARIES[device_type] & ATTENTION[device_type])
