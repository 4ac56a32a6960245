import enum

from torch import nn

from . import options

SHIFT = 0.25


class Kind(enum.Enum):
    SLOW = 1
    FAST = 2


class Base:
    level = 1.5
    depth = 2

    def run(self, x):
        return x * self.level + self.depth


class Scale(nn.Module):
    more = 1.0

    def __init__(self, factor, shift=0.5):
        super().__init__()
        self.factor, self.shift = factor, shift

    def forward(self, x):
        return x * self.factor + self.shift * self.more


def shifted(x, amount=SHIFT):
    return _inside(x) + amount


def _inside(x):
    return x * options.DEFAULTS.rate


def apply(function, x):
    return function(x) + 1
