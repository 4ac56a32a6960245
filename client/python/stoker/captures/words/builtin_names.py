"""What a global name stands for that its module does not hold: Python's own builtins, and what a program put among them."""

import builtins
import io
import types

from .held import HEAPTYPE, held

NOTHING = object()
_OF_THE_MODULE = frozenset(("__name__", "__doc__", "__package__", "__loader__", "__spec__"))
_CONSTANTS = {"None": None, "NotImplemented": NotImplemented, "Ellipsis": Ellipsis, "True": True, "False": False, "__debug__": __debug__}
_OTHER_NAMES = {"EnvironmentError": OSError, "IOError": OSError, "open": io.open}
_MADE_ANEW = "ExceptionGroup"  # A class that is made when Python starts.
_OF_SITES = "_sitebuiltins"  # help(), exit() ...


def put_there(module, name):
    """What the program put under a name among the builtins of the module's code; NOTHING for Python's own, or where there
    is none."""
    scope = vars(module).get("__builtins__", builtins)
    value = (vars(scope) if isinstance(scope, types.ModuleType) else scope).get(name, NOTHING)
    return NOTHING if value is NOTHING or _is_pythons(name, value) else value


def _is_pythons(name, value):
    if name in _OF_THE_MODULE:
        return True
    if name in _CONSTANTS or name in _OTHER_NAMES:
        return value is (_CONSTANTS if name in _CONSTANTS else _OTHER_NAMES)[name]
    if isinstance(value, type):
        is_made = value.__flags__ & HEAPTYPE and name != _MADE_ANEW
        return not is_made and (value.__module__, value.__name__) == ("builtins", name)
    if isinstance(value, types.BuiltinFunctionType):
        return (value.__module__, value.__name__) == ("builtins", name)
    return held(type(value), "__module__") == _OF_SITES
