"""Classes that compiled code of the program's own made: what their slots do, which run in place of being traced, nothing says.

A class names whatever module its maker likes, so it is told by where its functions lie in memory.
"""

import bisect
import ctypes
import sys

from ...base.mapped import mapped
from .held import HEAPTYPE
from .installed import lies_where_packages_are

_WORD = ctypes.sizeof(ctypes.c_void_p)


class Compiled:
    """What is loaded of it now."""

    def __init__(self):
        self._ranges = _own_ranges()

    def made(self, cls):
        """Did it make this class, or one that this inherits slots of?"""
        if not self._ranges:
            return False
        # What a class made in Python or by a specification does is in its slots, which a static class is made with.
        words = _words_at(id(cls), type(cls).__basicsize__) if cls.__flags__ & HEAPTYPE else (id(cls),)
        return any(map(self._is_within, words))

    def _is_within(self, address):
        place = bisect.bisect(self._ranges, (address, sys.maxsize)) - 1
        return place >= 0 and address < self._ranges[place][1]


def _words_at(address, size):
    return (ctypes.c_void_p.from_address(address + at).value or 0 for at in range(0, size - size % _WORD, _WORD))


def _own_ranges():
    """Sorted, (begin, end) of the parts of memory that files of such code are mapped to."""
    found = mapped()
    interpreters = {path for begin, end, path in found if begin <= id(object) < end}
    return sorted(
        (begin, end) for begin, end, path in found if path not in interpreters and not lies_where_packages_are(path))
