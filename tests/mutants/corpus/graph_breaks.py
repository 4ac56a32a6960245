"""Graph breaks: code between graphs runs as it is."""

import torch

LOG = []
RATE = 1.5


class Settings:
    shift = 0.5


def second(x):
    return x * RATE + Settings.shift


def entry(x):
    x = x * 2 + Settings.shift
    torch._dynamo.graph_break()
    x = second(x)
    torch._dynamo.graph_break()
    return x * len(LOG) if LOG else x - RATE


def make():
    return entry, (torch.linspace(-1, 1, 8),)
