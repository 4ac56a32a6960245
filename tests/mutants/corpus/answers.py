"""Objects, a class and a module whose `__getattr__` raises something else than AttributeError."""

import types

import torch

RATES = {"rate": 1.5, "_fields": ()}


class Answers:
    def __getattr__(self, name):
        return RATES[name]


class Meta(type):
    def __getattr__(cls, name):
        return RATES[name]


class Classy(metaclass=Meta):
    bias = 0.5


HOLDER = Answers()
module = types.ModuleType("module")
module.scale = 2.0
module.__getattr__ = RATES.__getitem__


def entry(x):
    return x * HOLDER.rate + Classy.bias * module.scale


def make():
    return entry, (torch.linspace(-1, 1, 8),)
