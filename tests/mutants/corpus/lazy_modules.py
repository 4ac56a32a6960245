"""A module with __getattr__, a module-level __dir__, objects made at import by a loop."""

import sys
import types

import torch

lazy = types.ModuleType("mutants_lazy")
exec("RATE = 1.5\ndef scaled(x, factor=2.0):\n    return x * factor + RATE\n", lazy.__dict__)
sys.modules["mutants_lazy"] = lazy

for number in range(3):
    globals()[f"value_{number}"] = number * 0.5

FUNCTIONS = []
for number in range(2):
    FUNCTIONS.append(lambda x, number=number: x + number)


def __getattr__(name):
    if name == "hidden":
        return 2.5
    raise AttributeError(name)


def entry(x):
    x = x * value_1 + value_2
    for function in FUNCTIONS:
        x = function(x)
    return x * getattr(sys.modules[__name__], "hidden", 1.0)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
