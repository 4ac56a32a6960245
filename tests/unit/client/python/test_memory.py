"""Which objects are told by their attributes, their slots and their value, and which hold what C code keeps in them."""

import array
import collections
import enum
import random
import re
import threading
import types

import numpy as np
import pytest
import torch

from stoker.captures.words.arrays import array_as_tensor, array_words
from stoker.captures.words.identity import Describer
from stoker.captures.words.memory import is_told
from stoker.captures.words.values import NotPortable, decode, encode


class Plain:
    pass


class Slotted:
    __slots__ = ("amount", "__weakref__")


class OfNumbers(int):
    pass


class OfItems(collections.OrderedDict):
    __slots__ = ()


class Raised(Exception):
    def __init__(self, amount):
        super().__init__(amount)


class OfPython(threading.local):
    pass


class Space(types.SimpleNamespace):
    pass


class Rolled(random.Random):
    pass


class Packed(array.array):
    pass


class Failed(OSError):
    pass


@pytest.mark.parametrize("cls", [Plain, Slotted, OfNumbers, OfItems, Raised, OfPython, Space, torch.nn.Linear, enum.Enum])
def test_what_python_made_is_told(cls):
    assert is_told(cls)


@pytest.mark.parametrize("cls", [Rolled, Packed, Failed, re.Match, torch.Generator, type(np.random.default_rng())])
def test_what_holds_more_is_not(cls):
    assert not is_told(cls)


def test_an_object_is_its_class_and_all_that_is_read_of_it():
    describe = Describer({"amount", "inner", "args"})
    held, other = Plain(), Plain()
    held.amount, held.inner, held.unread = 2, {"a": [1.5]}, 7
    other.amount, other.inner = 2, {"a": [1.5]}
    assert describe.object_words(held) == describe.object_words(other)
    other.inner["a"].append(1)
    assert describe.object_words(held) != describe.object_words(other)
    assert describe.object_words(Raised(1)) != describe.object_words(Raised(2))
    for value in (Rolled(3), Packed("i", [1]), Failed(1, "a")):
        with pytest.raises(NotPortable):
            describe.object_words(value)
    held.inner = torch.zeros(2)  # Guards know nothing of its elements.
    with pytest.raises(NotPortable):
        describe.object_words(held)


@pytest.mark.parametrize("value", [
    torch.finfo(torch.bfloat16), torch.iinfo(torch.int16), np.dtype("f4"), int | None, int | str])
def test_limits_types_of_elements_and_unions_come_back(value):
    found = decode(encode(value))
    assert type(found) is type(value) and repr(found) == repr(value)


def test_a_type_of_elements_that_a_program_made_has_no_words():
    for value in (np.dtype([("a", "f4")]), np.dtype(">f4"), np.dtype(object), np.dtype("f4", metadata={"a": 1})):
        with pytest.raises(NotPortable):
            encode(value)


def test_arrays_are_tensors_of_their_memory_and_have_words_by_value():
    values = np.arange(4.0)
    assert array_as_tensor(values).data_ptr() == values.ctypes.data
    assert array_as_tensor(np.float32(2)).dtype == torch.float32
    for other in (2.0, [1.0], np.matrix([[1.0]])):
        with pytest.raises(TypeError):
            array_as_tensor(other)
    assert array_words(values) == array_words(values.copy()) != array_words(values + 1)
    assert array_words(np.float32(2)) != array_words(np.float64(2))
    with pytest.raises(NotPortable):
        array_words(np.zeros(10_000))
