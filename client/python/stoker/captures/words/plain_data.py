"""What plain data IS: the value of an attribute of a class or of a function, in words that hold in another process.

Code reads it without a guard where Dynamo trusts that it stays: classes and functions.
"""

import collections
import enum
import hashlib
import logging
import pathlib
import re
import threading
import types
import typing

import torch

from ...base.signals import let_through
from ...pytorch import installation
from ...pytorch.marks import COMPILERS_FILES
from ..bytecode.reads import is_ordered_by_address, is_ordered_by_history
from .arrays import array_words, is_array
from .held import HEAPTYPE
from .values import DATA_TYPES, NotPortable, encode

_MAX_ITEMS = 20_000  # Of all containers in one value.
_MAX_DEPTH = 32
_MAX_TEXT = 256  # Longer ones are digested.

_SEQUENCES = (tuple, list, collections.deque)
_MAPPINGS = (
    dict, collections.OrderedDict, collections.defaultdict, collections.Counter, types.MappingProxyType)
_SETS = (set, frozenset)
_HINTS = (
    typing.TypeVar, typing.ForwardRef, types.GenericAlias, types.UnionType, type(typing.List[int]),
    type(typing.Union[int, str]), type(typing.Any))
_AS_BASE = DATA_TYPES | {base: lambda value, base=base: base(base.__iter__(value)) for base in (*_SEQUENCES, *_SETS)}
_BASES = (*_AS_BASE, *_MAPPINGS)
_read_slot = types.MemberDescriptorType.__get__


class PlainData:
    """Describes one value. `describe`: a Describer, which says what code and classes are."""

    def __init__(self, describe):
        self._describe = describe
        self._left = _MAX_ITEMS
        self._open = []  # Objects being described, outermost first: they may contain each other.

    def words(self, value):
        """JSON. NotPortable if there is none."""
        kind = type(value)
        if value is None or kind in (bool, int, float):
            return encode(value)
        if kind in (str, bytes):
            return encode(value) if len(value) <= _MAX_TEXT else self._digest(kind, value)
        self._left -= 1
        if self._left < 0 or len(self._open) > _MAX_DEPTH:
            raise NotPortable("data of many items, as an attribute of a class")
        for depth, outer in enumerate(self._open):
            if outer is value:
                return ["outer", depth]
        self._open.append(value)
        try:
            return self._of_kind(kind, value)
        finally:
            self._open.pop()

    def _of_kind(self, kind, value):
        if kind in _SEQUENCES:
            return [kind.__name__, *_limit_of(value), *(self.words(each) for each in value)]
        if kind in _MAPPINGS:
            items = [[self.words(key), self.words(item)] for key, item in value.items()]
            return [kind.__name__, self.words(_factory_of(value)), *items]
        if kind in _SETS:
            words = list(map(repr, (self.words(each) for each in value)))
            return [kind.__name__, *(words if self._is_in_order(value) else sorted(words))]
        if isinstance(value, enum.Enum):
            return ["enum", self._describe.refer_to(kind), value.name]
        if isinstance(value, type):
            return ["class", self._describe.refer_to(value)]
        if isinstance(value, types.MethodType) and not isinstance(value.__self__, (type, types.ModuleType)):
            return ["method", self._describe(value.__func__), self.words(value.__self__)]
        if isinstance(value, types.ModuleType) or self._describe.is_code(value):
            return self._describe(value)
        if isinstance(value, torch.Tensor):
            return ["tensor", self._describe.refer_to(kind), str(value.dtype), list(value.shape),
                    value.device.type, value.requires_grad]
        if is_array(value):
            return array_words(value)
        if isinstance(value, _HINTS):
            return ["hint", repr(value)]
        if isinstance(value, re.Pattern):
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, pathlib.PurePath):
            return ["path", kind.__name__, str(value)]
        if isinstance(value, logging.Logger):
            return ["logger", value.name]
        if kind.__flags__ & HEAPTYPE:
            return self._instance(kind, value)
        return ["value", encode(value)]

    def _is_in_order(self, value):
        return is_ordered_by_history(value) or self._describe.orders and not is_ordered_by_address(value)

    def _instance(self, kind, value):
        words = ["instance", self._describe.refer_to(kind)]
        for base in kind.__mro__:  # What it is besides an object: a subclass of list, of str.
            if base in _BASES:
                words.append(self._of_base(base, value))
                break
        own = own_attributes(value, self._describe.slots_of(kind))
        for name, item in own.items() if self._describe.enumerates else sorted(own.items()):
            if self._describe.reads(name):
                words.append([name, self.words(item)])
        return words

    def _of_base(self, base, value):
        """What it is without the methods of its own class."""
        if base in _MAPPINGS:
            items = [[self.words(key), self.words(dict.__getitem__(value, key))] for key in dict.keys(value)]
            return [self.words(_factory_of(value)), *items]
        return [*_limit_of(value), self.words(_AS_BASE[base](value))]

    def _digest(self, kind, value):
        data = value.encode(errors="surrogatepass") if kind is str else value
        return [kind.__name__, len(value), hashlib.sha256(data).hexdigest()[:24]]


def _limit_of(value):
    """[how many items a deque may have, where there is a limit]."""
    limit = collections.deque.maxlen.__get__(value) if isinstance(value, collections.deque) else None
    return [] if limit is None else [limit]


def _factory_of(value):
    is_default = isinstance(value, collections.defaultdict)
    return collections.defaultdict.default_factory.__get__(value) if is_default else None


def undecorated(function):
    """Below what PyTorch's compiler wrapped it in: a function, or a method where one was compiled."""
    while isinstance(inner := getattr(function, "__wrapped__", None), (types.FunctionType, types.MethodType)) and (
            installation.place_of(function.__code__) or "").startswith(COMPILERS_FILES):
        function = inner
    return function


def is_code_like(value, describe):
    return isinstance(value, type) or describe.is_code(value)


def method_words(value, describe):
    """Words of code, which a method bound to an object is too."""
    if isinstance(value, type):
        return ["class", describe.refer_to(value)]
    if isinstance(value, types.FunctionType):
        value = undecorated(value)
    if isinstance(value, types.MethodType) and not isinstance(value.__self__, (type, types.ModuleType)):
        return ["method", describe(value.__func__), describe.refer_to(type(value.__self__))]
    return describe(value)


def own_attributes(value, slots=None):
    """{name: value} of what an object holds itself, in its dictionary and in its slots. `slots`: of slots_of(its
    class), if the caller has them."""
    kind = threading.local if isinstance(value, threading.local) else object  # Which has a dictionary for each thread.
    try:
        found = dict(kind.__getattribute__(value, "__dict__"))
    except (AttributeError, TypeError) as error:
        let_through(error)
        found = {}
    for name, member in slots_of(type(value)) if slots is None else slots:
        try:
            found.setdefault(name, _read_slot(member, value))
        except AttributeError as error:
            let_through(error)
            continue  # An empty slot.
    return found


def slots_of(cls):
    """[(name, descriptor)], those of the class before those of its bases."""
    return [
        (name, member) for base in cls.__mro__ for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)]
