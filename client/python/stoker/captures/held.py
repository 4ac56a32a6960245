"""Attributes of a program's objects, without running the program."""


def held(value, name, default=None):
    """What an object, or its class, holds under a name. A `__getattr__` of the program's own is not asked: it may do,
    and raise, anything."""
    kind = type if isinstance(value, type) else object
    try:
        return kind.__getattribute__(value, name)
    except Exception:  # Of a property, too.
        return default
