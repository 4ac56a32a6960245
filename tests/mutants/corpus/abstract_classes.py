"""Abstract classes: registration, abstract methods, subclass hooks, protocols."""

import abc
import collections.abc
import numbers
import typing

import torch


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        return 1.0

    def twice(self):
        return self.area() * 2


class Square(Shape):
    side = 1.5

    def area(self):
        return self.side * self.side


class Thing:
    bonus = 0.25

    def __len__(self):
        return 3


class Hooked(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return hasattr(other, "bonus")


@typing.runtime_checkable
class Sized(typing.Protocol):
    def __len__(self): ...


SQUARE, THING = Square(), Thing()


def entry(x, value=1.5):
    x = x * SQUARE.twice() + THING.bonus
    x = x * 2 if isinstance(THING, Shape) else x
    x = x * 3 if isinstance(THING, Hooked) else x
    x = x * 5 if isinstance(THING, Sized) else x
    x = x * 7 if isinstance(THING, collections.abc.Sized) else x
    x = x * 11 if isinstance(value, numbers.Number) else x
    return x * 13 if issubclass(Square, Shape) else x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
