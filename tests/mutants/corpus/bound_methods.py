"""Bound methods, callables and functions as attributes, in globals and in tables."""

import torch
from torch import nn


class Steps:
    rate = 1.5

    def __init__(self, amount=1.0):
        self.amount = amount

    def one(self, x):
        return x + self.amount

    def two(self, x):
        return x * self.rate

    @classmethod
    def three(cls, x):
        return x - cls.rate

    @staticmethod
    def four(x, more=0.5):
        return x + more


STEP = Steps(2.0).one
STEPS = {"two": Steps().two, "three": Steps.three}
LIST = [Steps.four, torch.tanh, lambda x: x * 2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = Steps().two
        self.act = torch.sigmoid
        self.parts = (Steps(3.0), Steps())

    def forward(self, x):
        x = self.step(STEP(x)) + self.act(x)
        for name in ("two", "three"):
            x = STEPS[name](x)
        for function in LIST:
            x = function(x)
        for part in self.parts:
            x = part.one(x)
        return x


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
