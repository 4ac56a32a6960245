"""Overloaded operators of the program's classes: arithmetic, comparison, hashes, conversion."""

import torch


class Number:
    scale = 1.0

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(self.value + getattr(other, "value", other))

    def __radd__(self, other):
        return other + self.value * self.scale

    def __mul__(self, other):
        return self.value * other

    def __rmul__(self, other):
        return other * self.value

    def __neg__(self):
        return Number(-self.value)

    def __eq__(self, other):
        return isinstance(other, Number) and self.value == other.value

    def __hash__(self):
        return 7

    def __lt__(self, other):
        return self.value < other.value

    def __float__(self):
        return float(self.value)


ONE, TWO = Number(1.5), Number(2.5)


def entry(x):
    x = x * (ONE + TWO).value + (-ONE).value
    x = x * 2 if ONE == Number(1.5) else x
    x = x * 3 if ONE < TWO else x
    x = x + min(ONE, TWO).value + float(TWO)
    return ONE.__rmul__(x) + TWO.__radd__(x)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
