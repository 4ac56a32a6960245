"""NamedTuples of both kinds: defaults, methods, fields by place and by name."""

import collections
import typing

import torch

Pair = collections.namedtuple("Pair", "a b", defaults=(0.5,))


class Point(typing.NamedTuple):
    x: float
    y: float = 2.5
    label: str = "p"

    def norm(self):
        return self.x * self.x + self.y


class Named(Pair):
    scale = 2.0

    @property
    def both(self):
        return (self.a + self.b) * self.scale


PAIR = Named(1.5)
POINT = Point(0.25)


def entry(x):
    a, b = PAIR
    x = x * a + b * PAIR.both + POINT.norm()
    made = POINT._replace(x=3.0, label="q")
    x = x + made.y * len(made) + len(PAIR._fields)
    if POINT.label == "p" and "y" in POINT._fields:
        x = x * POINT._replace(y=4.0).y
    return x + PAIR._replace(a=2.0).a


def make():
    return entry, (torch.linspace(-1, 1, 8),)
