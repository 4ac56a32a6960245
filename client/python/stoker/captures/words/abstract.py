"""Which classes are an abstract class's, as `issubclass` has it (abc.ABCMeta.__subclasscheck__), without asking it: it goes
through all classes below for each question, and leaves its answers where the program's own questions find them.
"""

import abc
import collections.abc
import typing
import weakref
from typing import NamedTuple

from .held import held
from .installed import is_frozen, is_pythons_file

# Their hooks answer for themselves alone, not for classes below.
_OF_COLLECTIONS = frozenset(value for value in vars(collections.abc).values() if isinstance(value, abc.ABCMeta))


class _Below(NamedTuple):
    """What decides about one abstract class."""

    has_hook: bool
    known: frozenset  # Weak references to classes about which it was asked, and which are its.
    denied: frozenset  # Those that are not, if nothing was registered since.
    classes: frozenset  # It is its class that has one of these among its bases, or is one.
    asked: tuple  # Classes that decide by themselves.


class Kinds:
    """Answers of one moment: later, other classes may be there."""

    def __init__(self):
        self._belows = {}  # id -> (class, _Below)

    def has(self, cls, kind):
        """issubclass(kind, cls). What a hook of the program raises goes through."""
        if not _is_plainly_abstract(cls) or type(kind).__hash__ is not type.__hash__:  # It remembers by hash.
            return issubclass(kind, cls)
        below = self._below(cls)
        reference = weakref.ref(kind)
        if reference in below.known or reference in below.denied:
            return reference in below.known
        if below.has_hook:
            answer = cls.__subclasshook__(kind)
            if answer is not NotImplemented:
                return bool(answer)
        return not below.classes.isdisjoint(kind.__mro__) or any(self.has(each, kind) for each in below.asked)

    def _below(self, cls):
        if id(cls) not in self._belows:
            self._belows[id(cls)] = cls, _look_below(cls)
        return self._belows[id(cls)][1]


def registered_with(cls):
    """Classes that were registered with an abstract class, and live."""
    found = (reference() for reference in abc._get_dump(cls)[0])
    return [kind for kind in found if kind is not None]


def _look_below(cls):
    _, known, denied, version = abc._get_dump(cls)
    classes, asked, pending = {cls}, [], _next_to(cls)
    while pending:
        each = pending.pop()
        if _is_plainly_abstract(each) and not _has_hook(each):
            if each not in classes:
                pending += _next_to(each)
            classes.add(each)
        elif type(each).__subclasscheck__ is type.__subclasscheck__:
            classes.add(each)
        else:
            asked.append(each)
    return _Below(
        _has_hook(cls), frozenset(known), frozenset(denied) if version == abc.get_cache_token() else frozenset(),
        frozenset(classes), tuple(dict.fromkeys(asked)))


def _next_to(cls):
    return [*registered_with(cls), *type.__subclasses__(cls)]


def _is_plainly_abstract(cls):
    """A protocol is not: what its hook says depends on who calls it."""
    return isinstance(cls, abc.ABCMeta) and typing.Protocol not in cls.__mro__ and (
        type(cls).__subclasscheck__ is abc.ABCMeta.__subclasscheck__)


def _has_hook(cls):
    """Does a function say of classes whether they are its, before anything else does?"""
    owner = next(base for base in cls.__mro__ if "__subclasshook__" in vars(base))
    if owner is object:
        return False
    if owner is cls or owner not in _OF_COLLECTIONS:
        return True
    code = held(held(vars(owner)["__subclasshook__"], "__func__"), "__code__")
    return code is None or not (is_frozen(code) or is_pythons_file(code.co_filename))
