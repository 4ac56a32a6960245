"""Dataclasses: defaults, factories, frozen ones, inheritance, computed fields."""

import dataclasses

import torch


@dataclasses.dataclass
class Options:
    gain: float = 1.25
    steps: list = dataclasses.field(default_factory=lambda: [1.0, 2.0])
    name: str = "plain"

    def __post_init__(self):
        self.total = self.gain + len(self.steps)


@dataclasses.dataclass(frozen=True)
class Fixed:
    gain: float = 1.0
    extra: int = 3


@dataclasses.dataclass
class More(Options):
    gain: float = 0.75
    last: float = dataclasses.field(default=1.5, compare=False)


OPTIONS = Options()
FIXED = Fixed(gain=0.5)


def entry(x):
    local = More(gain=2.0)
    x = x * OPTIONS.gain + OPTIONS.total + local.total
    for field in dataclasses.fields(FIXED):
        if field.name == "extra":
            x = x + getattr(FIXED, field.name)
    x = x + sum(OPTIONS.steps) if OPTIONS.name == "plain" else x
    changed = dataclasses.replace(FIXED, gain=4.0)
    return x * changed.gain + (2.0 if FIXED == changed else 1.0)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
