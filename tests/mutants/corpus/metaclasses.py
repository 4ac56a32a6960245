"""Metaclasses: data, length, instance checks, attributes that they answer for, registries that they keep."""

import torch

REGISTRY = {}


class Meta(type):
    size = 2

    def __new__(meta, name, bases, namespace):
        cls = super().__new__(meta, name, bases, namespace)
        REGISTRY[name] = cls
        return cls

    def __len__(cls):
        return cls.size

    def __instancecheck__(cls, value):
        return hasattr(value, "is_special")

    @property
    def weight(cls):
        return 1.5


class First(metaclass=Meta):
    rate = 2.0


class Second(First):
    rate = 3.0
    is_special = True


class Hooked:
    found = []

    def __init_subclass__(cls, **keywords):
        cls.found.append(cls.__name__)


class One(Hooked):
    pass


class Two(Hooked):
    pass


THING = Second()


def entry(x):
    x = x * len(First) + First.weight + Second.rate
    x = x * 2 if isinstance(THING, First) else x
    x = x * 3 if isinstance(x, First) else x
    for name in REGISTRY:
        x = x + REGISTRY[name].rate
    return x * len(Hooked.found) + (1 if "One" in Hooked.found else 0)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
