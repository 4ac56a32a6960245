"""Numbers that grow evenly along each dim of a tensor, and where such numbers are not below zero."""

import math
from typing import NamedTuple

import torch

from ...graph import dims

# What is said of whole numbers of 64 bits does not leave these, of any dims that memory holds; of 32 bits, as little.
_MOST = 1 << 31
_MOST_OF_32_BITS, _MOST_STEP_OF_32_BITS = 1 << 20, 1


class Line(NamedTuple):
    """`first`, and `steps[dim]` more for each place along a dim; none along dims of one element."""

    first: float
    steps: tuple

    def is_even(self):
        return not any(self.steps)

    def negative(self):
        return Line(-self.first, tuple(-step for step in self.steps))

    def less(self, amount):
        return self._replace(first=self.first - amount)

    def plus(self, other, times=1):
        """Aligned at the last dims, as tensors are."""
        rank = max(len(self.steps), len(other.steps))
        a, b = ((0,) * (rank - len(line.steps)) + line.steps for line in (self, other))
        return Line(self.first + times * other.first, tuple(x + times * y for x, y in zip(a, b)))

    def normal(self, value):
        """As a traced tensor has it; None where it may overflow."""
        steps = (0,) * (len(value.shape) - len(self.steps)) + self.steps
        steps = tuple(0 if is_one(size) else step for size, step in zip(value.shape, steps))
        most, most_step = (_MOST_OF_32_BITS, _MOST_STEP_OF_32_BITS) if value.dtype == torch.int32 else (_MOST, _MOST)
        fits = isinstance(self.first, float) or abs(self.first) < most and all(abs(step) <= most_step for step in steps)
        return Line(self.first, steps) if fits else None

    def bounds(self, shape):
        """(the least, the greatest) element."""
        least = greatest = self.first
        for step, size in zip(self.steps, shape):
            reach = step * (max(size, 1) - 1 if type(size) is int else math.inf) if step else 0
            least, greatest = least + min(reach, 0), greatest + max(reach, 0)
        return least, greatest

    def is_inside(self, shape, size):
        """Is every element of it, in this shape, a place along a dim of this size, whatever varies?"""
        if self.first < 0 or any(step < 0 for step in self.steps):
            return False
        last = self.first
        for step, extent in zip(self.steps, shape):
            last = last + (extent - 1) * step if step else last
        return not dims.may_be_negative(size - 1 - last)


class Kept(NamedTuple):
    """True where the line is not below zero; as what is added to scores, 0 there and -infinity elsewhere."""

    line: Line
    is_added: bool = False

    def opposite(self):
        return self._replace(line=self.line.negative().less(1))

    def normal(self, value):
        line = self.line.normal(value)
        if line is None:
            return None
        least, greatest = line.bounds(value.shape)
        if least >= 0:
            line = always(len(value.shape))
        elif greatest < 0:
            line = never(len(value.shape))
        return self._replace(line=line)

    def both(self, other):
        """Where both are kept; None where that is no line."""
        rank = max(len(self.line.steps), len(other.line.steps))
        a, b = (each._replace(line=each.line.plus(always(rank))) for each in (self, other))
        for one, another in ((a, b), (b, a)):
            if one.line == always(rank) or another.line == never(rank):
                return another
        return a if a.line == b.line else None

    @property
    def truth(self):
        """What all elements are; None where they differ."""
        rank = len(self.line.steps)
        return {always(rank): True, never(rank): False}.get(self.line)


def is_one(size):
    return type(size) is int and size == 1


def always(rank):
    return Line(0, (0,) * rank)


def never(rank):
    return Line(-1, (0,) * rank)
