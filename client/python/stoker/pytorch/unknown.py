"""What a newer PyTorch may have added to an object that we read."""

import dataclasses
import functools

from ..base.not_portable import NotPortable


def require_defaults(value, known, what):
    """NotPortable if a field of the dataclass `value` that is not among the names `known` holds anything but its
    default: it may say that something is to be done otherwise than we know."""
    for field in _fields(type(value)):
        if field.name in known:
            continue
        found = getattr(value, field.name)
        if found is None or found is False or found == {}:
            continue
        if isinstance(found, (list, tuple)) and all(item is None for item in found):
            continue
        if field.default is not dataclasses.MISSING and found == field.default:
            continue
        raise NotPortable(f"{what} with {field.name}")


@functools.lru_cache(maxsize=256)
def _fields(cls):
    return dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
