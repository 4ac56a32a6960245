"""An installed package: its functions, classes, data and versions; what the program gives it."""

import importlib.metadata

import mutant_package
import torch
from mutant_package import layers, options
from mutant_package.layers import Scale
from torch import nn

RELEASE = importlib.metadata.version("mutant_package")


class Mine(layers.Base):
    level = 2.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale(1.5)
        self.mine = Mine()

    def forward(self, x):
        x = self.mine.run(self.scale(x)) + options.DEFAULTS.rate
        x = layers.apply(lambda y: y * 2, x) + options.DEFAULTS.table["a"]
        x = x * 2 if mutant_package.__version__ == "1.0" else x
        x = x + 1 if RELEASE.startswith("1.") else x - 1
        return x * layers.Kind.FAST.value + layers.shifted(x)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
