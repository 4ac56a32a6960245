"""Attributes of a program's objects, without asking its `__getattr__`."""

import types


def held(value, name):
    """What an object, or its class, holds under a name; None if nothing. A `__getattr__` or `__getattribute__` of the
    program's own is not asked: it may do, and raise, anything."""
    kind = type if isinstance(value, type) else object
    try:
        return kind.__getattribute__(value, name)
    except Exception:  # Whatever a property raises.
        return None


def module_name_of(value):
    """The name of a module, or of the one that a function or a class is from; "" for anything else."""
    name = value.__name__ if isinstance(value, types.ModuleType) else held(value, "__module__")
    return name if isinstance(name, str) else ""
