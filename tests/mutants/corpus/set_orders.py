"""The order of a set decides."""

import torch

FACTORS = {"red": 1.5, "green": 0.5, "blue": 3.0, "pink": 1.25, "gray": 2.0}
NAMES = set(FACTORS)


def entry(x):
    for name in NAMES:
        x = x * FACTORS[name] + 1
    return x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
