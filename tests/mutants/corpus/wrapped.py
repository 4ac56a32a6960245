"""torch.fx.wrap."""

import torch
import torch.fx

SHIFT = 0.5


@torch.fx.wrap
def traced(x):
    return x - SHIFT


def entry(x):
    return traced(x * 1.5) * 2


def make():
    return entry, (torch.linspace(-1, 1, 8),)
