"""The mapping from ATen to Stoker's graph: one module for each kind of operator, one table for all."""

from . import (
    activation,
    attention,
    contraction,
    convolution,
    creation,
    indexing,
    normalization,
    ordering,
    pointwise,
    reductions,
    shape,
)
from .registry import RULES, Unsupported

__all__ = ["RULES", "Unsupported"]
