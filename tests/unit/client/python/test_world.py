"""The world of a function that runs untraced: closed, with words that differ where it does, or none."""

import abc
import builtins
import enum
import math
import sys
import types

import pytest

from e2e import untraced_worlds
from stoker.captures.premises.world import World
from stoker.captures.words.values import NotPortable

HEAD = """
import abc, array, builtins, collections, dataclasses, enum, fractions, functools, logging, math, operator, os, types, typing, weakref
import numpy, torch


class Box:
    pass


"""


@pytest.fixture(autouse=True)
def as_it_was():
    kept = builtins.ascii
    yield
    builtins.ascii = kept
    for module in (builtins, math):
        vars(module).pop("stoker_test", None)
    for cls in (enum.Enum, abc.ABCMeta):
        if "stoker_test" in vars(cls):
            del cls.stoker_test
    sys.modules.pop("stoker_test_world", None)


def words(body, returned, count):
    module = types.ModuleType("stoker_test_world")
    module.__file__ = "/program/stoker_test_world.py"
    sys.modules[module.__name__] = module
    source = f"COUNT = {count}\n{HEAD}\n{body}\n\n\ndef root():\n    return {returned}\n"
    exec(compile(source, module.__file__, "exec"), vars(module))
    return World([module.root], False).words


@pytest.mark.parametrize("name", untraced_worlds.CLOSED)
def test_what_has_words_is_compared(name):
    body, returned = untraced_worlds.CLOSED[name]
    first = words(body, returned, 1)
    assert words(body, returned, 1) == first
    assert words(body, returned, 3) != first


@pytest.mark.parametrize("name", untraced_worlds.OPEN)
def test_what_has_none_stays_in_its_process(name):
    body, returned = untraced_worlds.OPEN[name]
    with pytest.raises(NotPortable):
        words(body, returned, 1)
