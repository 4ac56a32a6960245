"""The mapping from ATen to Stoker's graph: one module for each kind of operator, one table for all."""

from . import (
    activation,
    activation_gradients,
    arithmetic,
    attention,
    bits,
    contraction,
    convolution,
    creation,
    distances,
    foreach,
    indexing,
    losses,
    normalization,
    ordering,
    padding,
    pointwise,
    pooling,
    reductions,
    resizing,
    searching,
    shape,
    special,
    stateless_random,
)
from .rules.kernels import require_kernel
from .rules.numbers import checked_numbers, require_numbers_fit
from .rules.registry import RULES, WORD_RULES, Unsupported

__all__ = ["RULES", "WORD_RULES", "Unsupported", "checked_numbers", "require_kernel", "require_numbers_fit"]
