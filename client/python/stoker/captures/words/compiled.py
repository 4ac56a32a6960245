"""Classes that compiled code of the program's own made: what their slots do, which run in place of being traced, nothing says.

A class names whatever module its maker likes, so it is told by where its functions lie in memory.
"""

import bisect
import ctypes
import struct
import sys
import types

from ...base.mapped import length_of, mapped
from .held import HEAPTYPE
from .installed import lies_where_packages_are

_WORD = ctypes.sizeof(ctypes.c_void_p)
# Of a class that Python did not make, in words: its length, and behind what every object begins with, where it says where its
# tables of functions lie, and the lengths of these (PyTypeObject: tp_as_async, _number, _sequence, _mapping, _buffer).
_HEAD = object.__basicsize__ // _WORD
_STATIC = _HEAD + 49
_TABLES = ((_HEAD + 8, 4), (_HEAD + 10, 36), (_HEAD + 11, 10), (_HEAD + 12, 3), (_HEAD + 18, 2))
_OF_C = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType)


class Compiled:
    """What is loaded of it now."""

    def __init__(self):
        self._ranges = _own_ranges()

    def made(self, cls):
        """Did it make this class, or one that this inherits functions of, or what stands in it?"""
        if not self._ranges:
            return False
        first, last = self._ranges[0][0], self._ranges[-1][1]
        return any(self._is_within(word) for words in _words_of(cls) for word in words if first <= word < last)

    def _is_within(self, address):
        place = bisect.bisect(self._ranges, (address, sys.maxsize)) - 1
        return place >= 0 and address < self._ranges[place][1]


def _words_of(cls):
    """Addresses, among others, of it and its functions; by where they lie."""
    yield (id(cls),)
    is_static = not cls.__flags__ & HEAPTYPE
    words = _words_at(id(cls), _STATIC * _WORD if is_static else type(cls).__basicsize__)
    yield words
    for place, count in _TABLES if is_static else ():
        if words[place]:
            yield _words_at(words[place], count * _WORD)
    for value in vars(cls).values():
        if type(value) in _OF_C:
            yield _words_at(id(value), type(value).__basicsize__)


def _words_at(address, size):
    count = size // _WORD
    return struct.unpack(f"{count}N", ctypes.string_at(address, count * _WORD))


def _own_ranges():
    """Sorted, (begin, end) of the parts of memory that such code is in, with what lies between them in a file: files, and what was
    made in memory."""
    found = mapped()
    interpreters = {path for begin, end, path in found if begin <= id(object) < end}
    own = [part for part in found if part[2] not in interpreters and not lies_where_packages_are(part[2])]
    firsts = {path: begin for begin, _, path in reversed(own)}  # A file's zeros lie behind it.
    ranges = []
    for begin, end in sorted([part[:2] for part in own] + [(begin, begin + length_of(path)) for path, begin in firsts.items() if path]):
        if ranges and begin <= ranges[-1][1]:
            begin, end = ranges[-1][0], max(end, ranges.pop()[1])
        ranges.append((begin, end))
    return ranges
