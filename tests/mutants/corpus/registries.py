"""Registries filled by decorators and by subclassing; factories; classes chosen by text."""

import torch
from torch import nn

ACTIVATIONS = {}
LAYERS = []


def register(name, scale=1.0):
    def decorate(function):
        ACTIVATIONS[name] = (function, scale)
        return function

    return decorate


@register("soft", scale=2.0)
def soft(x):
    return torch.tanh(x)


@register("hard")
def hard(x):
    return torch.relu(x)


class Layer(nn.Module):
    kinds = {}

    def __init_subclass__(cls, kind=None):
        Layer.kinds[kind] = cls
        LAYERS.append(cls)


class Plain(Layer, kind="plain"):
    def forward(self, x):
        return x + 1


class Wide(Layer, kind="wide"):
    factor = 3.0

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    chosen = ("plain", "wide")

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer.kinds[kind]() for kind in self.chosen)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for name in ("soft", "hard"):
            function, scale = ACTIVATIONS[name]
            x = function(x) * scale
        return x + len(LAYERS) + len(Layer.kinds)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
