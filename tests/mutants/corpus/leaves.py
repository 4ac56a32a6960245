"""Functions that a trace does not look into."""

import torch
import torch.fx

RATE = 1.5


class Inner:
    amount = 2.0


@torch.compiler.disable
def disabled(x):
    return x * RATE


def helper(x):
    return x + Inner.amount


def entry(x):
    x = helper(x)
    x = disabled(x)
    return torch.relu(x) + 1


def make():
    return entry, (torch.linspace(-1, 1, 8),)
