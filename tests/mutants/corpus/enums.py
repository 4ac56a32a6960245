"""Members of enumerations: values, properties, order, aliases."""

import enum

import torch


class Kind(enum.Enum):
    SLOW = 1
    FAST = 2
    QUICK = 2

    @property
    def factor(self):
        return self.value * 1.5


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Access(enum.Flag):
    READ = 1
    WRITE = 2


WANTED = Kind.FAST
RIGHTS = Access.READ | Access.WRITE


def entry(x):
    x = x * WANTED.value + Kind.SLOW.factor + len(Kind)
    if Access.WRITE in RIGHTS:
        x = x * Level.HIGH
    for kind in Kind:
        x = x + kind.value
    if WANTED is Kind.QUICK:
        x = x * Kind["SLOW"].value + Level(3)
    return x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
