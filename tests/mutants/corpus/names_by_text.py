"""getattr, hasattr and setattr with names that come as values, in f-strings, in tables; vars and dir."""

import sys

import torch
from torch import nn

THIS = sys.modules[__name__]
ACTIVATION = "tanh"
PREFIX = "rate"
rate_slow = 1.5
rate_fast = 2.5


class Config:
    hidden_one = 1.0
    hidden_two = 2.0
    flag = True

    def run_plain(self, x):
        return x + 1

    def run_other(self, x):
        return x * 3


CONFIG = Config()


class Net(nn.Module):
    mode = "plain"

    def forward(self, x):
        x = getattr(torch, ACTIVATION)(x)
        for name in ("slow", "fast"):
            x = x * getattr(THIS, f"{PREFIX}_{name}")
        x = getattr(CONFIG, "run_" + self.mode)(x)
        x = x + sum(getattr(Config, name) for name in ("hidden_one", "hidden_two"))
        x = x * 2 if hasattr(CONFIG, "flag") else x
        x = x * getattr(CONFIG, "missing", 1.25)
        x = x * 3 if getattr(self, "absent", None) is None else x
        x = x * 5 if hasattr(THIS, "extra") else x
        return x + globals()["rate_slow"]


def make():
    return Net().eval(), (torch.linspace(-1, 1, 8),)
