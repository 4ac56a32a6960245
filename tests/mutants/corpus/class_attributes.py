"""Data of classes, their bases, nested classes and objects of classes."""

import torch
from torch import nn


class Settings:
    scale = 2.0
    steps = [1, 2, 3]
    table = {"first": 1.0, "second": 0.5}

    class Inner:
        depth = 3
        names = ("a", "b")


class Base(nn.Module):
    rate = 0.5
    level = 1.5


class Net(Base):
    level = 2.5

    def __init__(self):
        super().__init__()
        self.width = 4

    def forward(self, x):
        x = x * Settings.scale * len(Settings.steps) + Settings.table["first"]
        x = x * Settings.Inner.depth + type(self).rate + self.level
        x = x * 2 if hasattr(self, "extra") else x
        x = x * 3 if hasattr(Settings, "more") else x
        x = x + sum(Settings.steps) if "second" in Settings.table else x
        return x * self.width + len(Settings.Inner.names)


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
