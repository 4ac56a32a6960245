"""What a kind of device runs, of what a graph can say: the one place that tells what PyTorch's own kernels do there."""

from ..graph.devices import device_of
from .convolutions import taken_apart
from .epilogues import FUSED, fused
from .masks import without_known_masks
from .siblings import merged
from .strides import without_restriding
from .symbols import has_sizes

# Operations that a target has no kernel for. An operator whose rule needs one is a call of PyTorch, whole: its libraries'
# kernels are why.
ABSENT = {
    "cpu": frozenset(),
    "cuda": frozenset(("attention", "convolution", "cumulative", "dynamic_update_slice", "scan", "scatter", "sort", "top_k", "while")),
}
# Operators without a rule that libraries are there for: no fallbacks either.
OF_LIBRARIES = {
    "cpu": frozenset(),
    "cuda": frozenset((str(FUSED), *(
        f"aten.{name}.default" for attention in ("flash", "efficient", "cudnn")
        for name in (f"_scaled_dot_product_{attention}_attention", f"_scaled_dot_product_{attention}_attention_backward")))),
}


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
    attention = OF_LIBRARIES[device_type] - {str(FUSED)}
    return merged(without_known_masks(gm, attention), attention)
