"""Code that reads names that it does not name: vars, dir, __dict__, annotations."""

import torch


class Config:
    one = 1.0
    two = 2.0
    note: int = 1
    other: float = 2.0


class Holder:
    def __init__(self):
        self.a = 1.5
        self.b = 2.5


HOLDER = Holder()


def entry(x):
    for name, value in vars(HOLDER).items():
        x = x * value
    for name in dir(Config):
        if not name.startswith("_"):
            x = x + 1
    x = x + len(Config.__annotations__)
    return x * len(HOLDER.__dict__)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
