"""Tensors in globals, closures, classes and containers; NumPy values; random state that is not read."""

import numpy
import torch
from torch import nn

WEIGHT = torch.linspace(1, 2, 8)
TABLE = {"bias": torch.ones(8), "list": [torch.zeros(8), torch.full((8,), 2.0)]}
SCALE = numpy.float64(1.5)
SIZES = numpy.array([1, 2])


class Holder:
    shift = torch.full((8,), 0.5)


def over(weight):
    return lambda x: x * weight


RUN = over(torch.full((8,), 3.0))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = [torch.ones(8), torch.zeros(8)]
        self.number = torch.tensor(2.0)

    def forward(self, x):
        x = RUN(x * WEIGHT + TABLE["bias"]) + TABLE["list"][1]
        x = x + Holder.shift + self.held[0]
        return x * self.number


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
