"""Which dictionaries decide about an attribute that Python code computes.

The code of `__getattribute__` and of a property's getter is interpreted (interpreter.py); no code of the program
runs. What holds for an answer: functions and properties keep their code, and `super` stays the builtin in modules
that do not define it. A trace relies on the same.
"""

import sys
import types
from collections import OrderedDict

from .interpreter import ABSENT, Unknown, interpret, look_up, require

_VERSIONS = tuple(("cpython", 3, minor) for minor in range(11, 16))
_MAX_DEPTH = 8
_MAX_INSTRUCTIONS = 1000
_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE.
_READ_ATTRIBUTE = vars(object)["__getattribute__"]

# Of a class, around what its metaclass defines.
_order_of = vars(type)["__mro__"].__get__
_flags_of = vars(type)["__flags__"].__get__
_definitions_of = vars(type)["__dict__"].__get__


class _Missing(Exception):
    """The code raises AttributeError."""


def reads_of(value, name, generic=False):
    """(found, result, dictionaries): what `getattr(value, name)` gives, and the dictionaries (exact dict or
    OrderedDict, besides value's own `__dict__` and those of its class and bases) whose content decides about it,
    each reached only through ones before it. None where the code reads anything else or is not understood.
    found False: AttributeError, result None. `generic`: what `object.__getattribute__(value, name)` gives."""
    if (sys.implementation.name, *sys.version_info[:2]) not in _VERSIONS:
        return None
    try:
        reading = _Reading(value)
        try:
            result = reading.generic(name) if generic else reading.attribute(name, reading.classes)
            return True, result, tuple(reading.dictionaries)
        except _Missing:
            return False, None, tuple(reading.dictionaries)
    except Unknown:
        return None


def _find(classes, name):
    for each in classes:
        found = look_up(_definitions_of(each), name)
        if found is not ABSENT:
            return found
    return ABSENT


def _is_plain(value):
    """Is it no descriptor, and cannot become one?"""
    return all(
        _flags_of(each) & _IMMUTABLE_TYPE and "__get__" not in _definitions_of(each)
        for each in _order_of(type(value)))


class _Reading:
    """Of one attribute of `value`, with what was read for it so far."""

    def __init__(self, value):
        self.value = value
        self.classes = _order_of(type(value))
        self.dictionaries = []
        self._left = _MAX_INSTRUCTIONS
        self._depth = 0
        self._own_descriptor = _find(self.classes, "__dict__")
        require(type(self._own_descriptor) is types.GetSetDescriptorType)
        require(any(self._own_descriptor.__objclass__ is each for each in self.classes))
        self._own = self._own_descriptor.__get__(value)
        require(type(self._own) is dict)

    def attribute(self, name, classes):
        """What the first `__getattribute__` in `classes` gives."""
        require(type(name) is str)
        found = _find(classes, "__getattribute__")
        return self.generic(name) if found is _READ_ATTRIBUTE else self._call(found, self.value, name)

    def item(self, dictionary, key, default=None):
        require(type(dictionary) in (dict, OrderedDict))
        if all(dictionary is not each for each in (self._own, *self.dictionaries)):
            self.dictionaries.append(dictionary)
        return look_up(dictionary, key, default)

    def count_instruction(self):
        self._left -= 1
        require(self._left >= 0)

    def generic(self, name):
        """What object.__getattribute__ gives."""
        found = _find(self.classes, name)
        if found is self._own_descriptor:
            return self._own
        if type(found) is property:
            return self._call(found.fget, self.value)
        require(found is ABSENT or _is_plain(found))
        result = look_up(self._own, name, found)
        if result is ABSENT:
            require(_find(self.classes, "__getattr__") is ABSENT)
            raise _Missing
        return result

    def _call(self, function, *arguments):
        require(self._depth < _MAX_DEPTH)
        self._depth += 1
        result = interpret(self, function, arguments)
        self._depth -= 1
        return result
