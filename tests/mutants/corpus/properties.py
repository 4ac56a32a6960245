"""Properties, descriptors with data and without, slots."""

import torch
from torch import nn


class Offset:
    def __init__(self, amount):
        self.amount = amount

    def __get__(self, instance, owner):
        return self.amount


class Checked:
    limit = 3.0

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return min(getattr(instance, self.name, 1.0), self.limit)

    def __set__(self, instance, value):
        setattr(instance, self.name, value)


class Slots:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left = 1.5


class Net(nn.Module):
    offset = Offset(0.5)
    checked = Checked()

    def __init__(self):
        super().__init__()
        self.checked = 2.0
        self.slots = Slots()

    @property
    def temperature(self):
        return self.base * 0.5

    @property
    def base(self):
        return 3.0

    @staticmethod
    def shifted(x):
        return x + 0.125

    @classmethod
    def made(cls, x):
        return x * cls.base.fget(None)

    def forward(self, x):
        x = self.shifted(x) * self.temperature + self.offset
        x = self.made(x) + self.checked + self.slots.left
        return x * 2 if hasattr(self.slots, "right") else x


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
