"""__call__, __getattr__, __getitem__, __len__, __bool__, __contains__, __iter__, __enter__ of the program's objects."""

import torch


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor

    def __getattr__(self, name):
        if name.startswith("virtual_"):
            return 1.5
        raise AttributeError(name)

    def __getitem__(self, place):
        return place * 0.5

    def __len__(self):
        return 2

    def __bool__(self):
        return True

    def __contains__(self, value):
        return value == "in"

    def __iter__(self):
        yield 1.0
        yield 2.0


class Context:
    depth = 0.5

    def __enter__(self):
        return self.depth

    def __exit__(self, *_):
        return False


class Sub(Scaler):
    pass


SCALER = Sub(2.0)


def entry(x):
    x = SCALER(x) + SCALER.virtual_rate + SCALER[3] + len(SCALER)
    x = x * 2 if SCALER else x
    x = x * 3 if "in" in SCALER else x
    for value in SCALER:
        x = x + value
    with Context() as depth:
        x = x * depth
    return x if hasattr(SCALER, "real") else x + 1


def make():
    return entry, (torch.linspace(-1, 1, 8),)
