"""Calls with keywords, *arguments and **keywords, positional-only and keyword-only parameters."""

import torch
from torch import nn

DEFAULTS = {"gain": 1.5, "shift": 0.5}
EXTRA = (2.0, 3.0)


def first(x, /, gain=1.0, *rest, shift=0.0, **more):
    return x * gain + sum(rest) + shift + len(more) * 0.25


class Layer(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x, *, scale=2.0, **options):
        merged = {**self.options, **options}
        return first(x, **merged) * scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(gain=0.5, other=1)
        self.last = nn.Linear(8, 4)

    def forward(self, x, kind="a", **unused):
        x = self.layer(x, shift=1.0, **unused) + first(x, *EXTRA, **{"shift": DEFAULTS["shift"]})
        return self.last(x) if kind == "a" else x


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8), "a")
