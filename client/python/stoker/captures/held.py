"""Attributes of a program's objects, without asking its `__getattr__`."""


def held(value, name):
    """What an object, or its class, holds under a name; None if nothing. A `__getattr__` or `__getattribute__` of the
    program's own is not asked: it may do, and raise, anything."""
    kind = type if isinstance(value, type) else object
    try:
        return kind.__getattribute__(value, name)
    except Exception:  # Whatever a property raises.
        return None
