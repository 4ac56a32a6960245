"""What objects hold, without asking a program's `__getattr__`."""

import enum
import functools
import sys
import types

import pytest

from stoker.captures.words.held import held


class Answers:
    given = 3

    def __init__(self):
        self.own = 4

    def __getattr__(self, name):
        raise KeyError(name)

    @property
    def made(self):
        raise OSError("no")


class Meta(type):
    def __getattr__(cls, name):
        raise ZeroDivisionError(name)


class Classy(metaclass=Meta):
    pass


def lazy_module():
    module = types.ModuleType("lazy")
    module.__getattr__ = lambda name: {}[name]
    return module


@pytest.mark.parametrize("value, name, found", [
    (Answers(), "own", 4), (Answers(), "given", 3), (Answers(), "other", None), (Answers(), "made", None),
    (Classy, "other", None), (Classy, "__module__", __name__), (Classy(), "__module__", __name__),
    (lazy_module(), "__file__", None), (lazy_module(), "__name__", "lazy"), (sys, "maxsize", sys.maxsize),
    (enum.Enum, "__qualname__", "Enum"), (3, "real", 3), (held, "__name__", "held"), (len, "__module__", "builtins"),
    (functools.partial(held), "func", held)], ids=range(15))
def test_held(value, name, found):
    assert held(value, name) == found


def test_methods_hold_their_function():
    assert held(Meta.__getattr__, "__func__") is None
    assert held([].append, "__self__") == []
    assert held(Answers().__init__, "__func__") is Answers.__init__
