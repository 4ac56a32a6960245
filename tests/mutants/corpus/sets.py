"""Sets: what is in them, how many, their order."""

import torch

FACTORS = {"red": 1.5, "green": 0.5, "blue": 3.0, "pink": 1.25}
NAMES = set(FACTORS)
FIXED = frozenset(("red", "blue"))


class Palette:
    known = {"red", "green"}
    numbers = {1, 2, 3}


def entry(x):
    x = x * 2 if len(NAMES) > 2 else x
    x = x * len(NAMES & FIXED) + len(Palette.known)
    x = x + sum(Palette.numbers)
    for name in sorted(NAMES):
        x = x * FACTORS[name] + 1
    chosen = {name for name in FACTORS if name != "red"}
    return x * len(chosen) if FIXED <= NAMES else x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
