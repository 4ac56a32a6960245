"""Modules that traced code imports on its way: Dynamo imports them while it traces, and the bytecode that it makes does not.
So a program's own must be there before a start, as it was before the trace, for nobody knows what its import does; one of an
installed package is imported."""

import builtins
import importlib
import sys

from ...base.signals import let_through
from ..words.builtin_names import NOTHING, put_there
from ..words.installed import is_installed_module
from ..words.values import NotPortable

_OF_PACKAGE, _OF_PROGRAM = "package", "program"
_PYTORCH = "torch"
_NOT_YET = object()


def imported_of(reached, loaded):
    """JSON, [[name, whose]], or None where code imports nothing. `loaded`: names of the modules that there were before the
    trace. NotPortable where it imported one of the program, or imports as the program does."""
    if not reached.imported:
        return None
    if _is_replaced():
        raise NotPortable("an __import__ of the program's")
    found = []
    for name in sorted(reached.imported):
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] == _PYTORCH:
            continue
        is_packages = is_installed_module(module)
        if not is_packages and name not in loaded:
            raise NotPortable("a module that is imported on the way")
        found.append([name, _OF_PACKAGE if is_packages else _OF_PROGRAM])
    return found


def first_difference(imported):
    """(what, expected, found) of the first one that is not what it was, or None, without an import."""
    if imported is None:
        return None
    if _is_replaced():
        return "builtins.__import__", "Python's", "another"
    for name, whose in imported:
        for part in _with_parents(name):
            if sys.modules.get(part, _NOT_YET) is None:  # Its import is forbidden.
                return f"module {part}", "imported", "None in sys.modules"
        if whose == _OF_PROGRAM and name not in sys.modules:
            return f"module {name}", "imported", "not yet imported"
    return None


def missing_of(imported):
    """Names of modules of packages."""
    return [name for name, _ in imported or () if name not in sys.modules]


def import_all(names):
    """As first_difference."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # Whatever a package raises.
            let_through(error)
            return f"module {name}", "imported", repr(error)
    return None


def _is_replaced():
    return put_there(builtins, "__import__") is not NOTHING


def _with_parents(name):
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
