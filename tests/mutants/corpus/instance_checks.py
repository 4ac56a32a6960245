"""isinstance, issubclass and type over hierarchies; multiple inheritance and super()."""

import torch
from torch import nn


class Left:
    rate = 1.5

    def run(self, x):
        return x + self.rate


class Right:
    rate = 2.5

    def run(self, x):
        return x * self.rate


class Both(Left, Right):
    def run(self, x):
        return super().run(x) * 2


class Mixin:
    def step(self, x):
        return super().step(x) + 1


class Base(nn.Module):
    def step(self, x):
        return x * 3


class Net(Mixin, Base):
    def __init__(self):
        super().__init__()
        self.both = Both()
        self.kinds = (Left, Right)

    def forward(self, x):
        x = self.both.run(self.step(x))
        x = x * 2 if isinstance(self.both, Right) else x
        x = x * 3 if isinstance(self.both, self.kinds) else x
        x = x * 5 if type(self.both) is Both else x
        x = x * 7 if issubclass(Both, Left) else x
        return x + len(Both.__mro__) + (1 if Both.__name__ == "Both" else 2) + len(type(self).__bases__)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
