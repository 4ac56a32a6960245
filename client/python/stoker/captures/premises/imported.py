"""Modules that traced code imports on its way: Dynamo imports them while it traces, and the bytecode that it makes does not.
So a program's own must be there before a start, as it was before the trace, for nobody knows what its import does; one of an
installed package is imported."""

import importlib
import sys

from ..words.installed import is_installed_module
from ..words.values import NotPortable

_OF_PACKAGE, _OF_PROGRAM = "package", "program"
_PYTORCH = "torch"


def imported_of(reached, loaded):
    """JSON, [[name, whose]]. `loaded`: names of the modules that there were before the trace. NotPortable where it imported
    one of the program."""
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
    """(what, expected, found) of the first one that is not what it was, or None. What is missing of packages is imported."""
    missing = [(name, whose) for name, whose in imported if name not in sys.modules]
    for name, whose in missing:
        if whose == _OF_PROGRAM:
            return f"module {name}", "imported", "not yet imported"
    for name, _ in missing:
        try:
            importlib.import_module(name)
        except Exception as error:  # Whatever a package raises.
            return f"module {name}", "imported", repr(error)
    return None
