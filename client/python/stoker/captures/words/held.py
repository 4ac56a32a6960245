"""Attributes of a program's objects, without asking its `__getattr__`."""

import builtins
import functools
import importlib.machinery
import sys
import types

from ...base.signals import let_through

HEAPTYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: other classes belong to Python or an extension.
MATCHED = 3 << 5  # Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING: what `match` takes for one, as registered.
EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)  # Of files of compiled code.

_OF_PYTHON = frozenset(id(value) for module in (builtins, types) for value in vars(module).values() if type(value) is type)


def held(value, name):
    """What an object, or its class, holds under a name; None if nothing. A `__getattr__` or `__getattribute__` of the
    program's own is not asked: it may do, and raise, anything."""
    kind = type if isinstance(value, type) else object
    try:
        return kind.__getattribute__(value, name)
    except Exception as error:  # Whatever a property raises.
        let_through(error)
        return None


def module_of_class(cls):
    """The name of the module that a class says it is from. Those that extensions make say "builtins" where nobody has said
    otherwise: then of the extension that holds it under its name."""
    name = held(cls, "__module__")
    if name == "builtins" and cls.__flags__ & HEAPTYPE:
        return _extension_of(cls) or name
    return name


def module_that_made(cls):
    """The same, also of a class that has no place for what somebody says: it takes longer, for Python's are of that kind."""
    name = held(cls, "__module__")
    if name == "builtins" and id(cls) not in _OF_PYTHON:
        return _extension_of(cls) or name
    return name


@functools.lru_cache(maxsize=256)
def _extension_of(cls):
    """The name of one that holds it, or None: seldom asked, for it looks at all modules."""
    own = held(cls, "__name__")
    found = [
        module for module, value in list(sys.modules.items())
        if str(held(value, "__file__")).endswith(EXTENSIONS) and vars(value).get(own) is cls]
    return min(found, default=None)


def module_name_of(value):
    """The name of a module, or of the one that a function or a class is from; "" for anything else."""
    name = value.__name__ if isinstance(value, types.ModuleType) else held(value, "__module__")
    return name if isinstance(name, str) else ""
