"""What the elements of a graph's tensors are, whatever their sizes. Masks of attention are told by it where sizes vary."""

import math

import torch

from ...graph import dims
from ...graph.layout import is_tensor
from ...pytorch.operators import OpOverload
from .line import Kept, Line, is_one
from .rules import COUNTED, RULES


class Elements:
    """Of the fx nodes of one functional graph. `least`: what is added to scores, if it is no more than this, stands for
    -infinity."""

    def __init__(self, least=-math.inf):
        self.least = least
        self._found = {}

    def of(self, argument):
        """Of an fx node or a number: a Line or Kept; None: nobody knows."""
        if not isinstance(argument, torch.fx.Node):
            return Line(argument, ()) if isinstance(argument, (int, float)) else None
        if argument not in self._found:
            told = self._told(argument)
            self._found[argument] = None if told is None else told.normal(argument.meta["val"])
        return self._found[argument]

    def line(self, argument):
        """Of whole numbers."""
        found = self.of(argument)
        is_whole = isinstance(found, Line) and (type(argument) is int or (
            isinstance(argument, torch.fx.Node) and argument.meta["val"].dtype in COUNTED))
        return found if is_whole else None

    def truth(self, argument):
        found = self.of(argument)
        return found if isinstance(found, Kept) and not found.is_added else None

    def number(self, argument):
        """What every element is; None where they differ."""
        found = self.of(argument)
        return found.first if isinstance(found, Line) and found.is_even() else None

    def pattern(self, mask, queries, keys):
        """"full" or "causal" if the mask is that for each batch and head, else None."""
        kept = self.of(mask)
        if not isinstance(kept, Kept):
            return None
        if kept.truth:
            return "full"
        shape = mask.meta["val"].shape
        if len(shape) < 2 or not dims.same(shape[-2:], (queries, keys)):
            return None
        steps = tuple(0 if is_one(size) else step for size, step in ((queries, 1), (keys, -1)))
        return "causal" if kept.line == Line(0, (0,) * (len(shape) - 2) + steps) else None

    def _told(self, node):
        value = node.meta.get("val")
        is_told = node.op == "call_function" and isinstance(node.target, OpOverload) and is_tensor(value)
        if not is_told or None in value.shape:
            return None
        rule = RULES.get(str(node.target).rpartition(".")[0])
        return rule(self, node) if rule is not None else None
