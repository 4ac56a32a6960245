"""Objects that hold more than Python can see: what C code keeps in them, behind their attributes and slots."""

import collections
import threading
import types
import weakref

from .held import HEAPTYPE

_WORD = object.__basicsize__ // 2
_MANAGED = -1  # Where CPython from 3.12 on keeps dictionaries and weak references: before the object.
# What lies in such objects is told by what they are asked as.
_ASKED = (
    object, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, collections.deque, collections.OrderedDict,
    collections.defaultdict, threading.local, types.SimpleNamespace)
# Which tell nothing but that they are there.
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_known = weakref.WeakKeyDictionary()


def is_told(cls):
    """Are the attributes, the slots and, where there is one, the value of an object of this class all that it holds?"""
    found = _known.get(cls)
    if found is None:
        found = _known[cls] = cls in _LOCKS or _is_told(cls)
    return found


def _is_told(cls):
    while cls not in _ASKED and cls.__flags__ & HEAPTYPE:
        base = cls.__base__
        if cls.__itemsize__ != base.__itemsize__ or cls.__basicsize__ - base.__basicsize__ > _WORD * _words_added(cls, base):
            return False
        cls = base
    return cls in _ASKED or is_plain_exception(cls)


def is_plain_exception(cls):
    """One that holds its arguments, and what it was raised with."""
    return issubclass(cls, BaseException) and cls.__basicsize__ == BaseException.__basicsize__


def _words_added(cls, base):
    """Words of memory: for slots, and for what is in every object of a class in Python."""
    slots = sum(isinstance(value, types.MemberDescriptorType) for value in vars(cls).values())
    has_dictionary = not base.__dictoffset__ and cls.__dictoffset__ not in (0, _MANAGED) and (
        abs(cls.__dictoffset__) < cls.__basicsize__)  # CPython 3.11 has it before the object, too.
    has_references = not base.__weakrefoffset__ and cls.__weakrefoffset__ > 0
    return slots + has_dictionary + has_references
