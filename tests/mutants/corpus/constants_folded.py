"""What runs over constants in a trace: methods of the program's classes, comparisons, conversions, hashes."""

import math

import torch


class Unit:
    table = {"m": 1.0, "km": 3.0}

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def factor(self):
        return self.table[self.name]

    def __repr__(self):
        return f"Unit({self.name})"

    def __str__(self):
        return self.name * 2


METER, FAR = Unit("m"), Unit("km")
FACTORS = {METER: 2.0, FAR: 5.0}


def area(width, height=2):
    return math.sqrt(width * height) + round(1.5) + divmod(7, 2)[1]


def entry(x):
    x = x * METER.factor() + area(3) + FAR.factor()
    x = x * 2 if METER == Unit("m") else x
    x = x + len(str(FAR)) + len(repr(METER))
    x = x * FACTORS[METER]
    return x + int("12") + float("1.5") + bool([]) + abs(-2) + pow(2, 3) + ord("a") / 97


def make():
    return entry, (torch.linspace(-1, 1, 8),)
