"""Configuration objects as libraries have them: defaults in classes, overrides, attribute maps, copies."""

import copy
import types

import torch
from torch import nn


class BaseConfig:
    hidden = 8
    act = "relu"
    attribute_map = {"width": "hidden"}

    def __init__(self, **changes):
        for name, value in changes.items():
            setattr(self, name, value)

    def __getattribute__(self, name):
        mapped = super().__getattribute__("attribute_map")
        return super().__getattribute__(mapped.get(name, name))


class Config(BaseConfig):
    eps = 0.5
    layers = 2


PLAIN = types.SimpleNamespace(gain=1.5, inner=types.SimpleNamespace(depth=2))
ACTS = {"relu": torch.relu, "tanh": torch.tanh}


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.other = copy.deepcopy(config)
        self.linear = nn.Linear(config.width, config.hidden)

    def forward(self, x):
        for _ in range(self.config.layers):
            x = ACTS[self.config.act](self.linear(x)) + self.config.eps
        x = x * self.other.width * PLAIN.gain + PLAIN.inner.depth
        return x * 2 if hasattr(self.config, "extra") else x


def make():
    return Net(Config(eps=0.25)).eval(), (torch.linspace(-1, 1, 8),)
