"""Sets that classes and defaults of arguments hold: Dynamo may take these as they are, and no guard knows of them."""

import enum
import functools
import types
from typing import Any, NamedTuple

from ..words.held import held
from ..words.orders import sets_in


class Met(NamedTuple):
    """An object, often a set, that code comes to."""

    name: str  # That code reads it by; None where it comes to it in another way.
    is_variable: bool  # Of a function, and no global.
    value: Any


def parts_of(met):
    """[Met] of what this is, and of what a call of it calls."""
    value = met.value
    if isinstance(value, (staticmethod, classmethod)):
        return parts_of(met._replace(value=value.__func__))
    if isinstance(value, types.GenericAlias):
        return parts_of(Met(None, False, value.__origin__))
    if isinstance(value, functools.partial):
        return [each for part in (value.func, *value.args) for each in parts_of(Met(None, False, part))]
    return [met]


def sets_of_classes(classes):
    """{name of an attribute: sets that one of these classes, a base of it, or a class that it holds, has under it}."""
    found, pending, seen = {}, list(classes), set()
    while pending:
        cls = pending.pop()
        if cls in seen:
            continue
        seen.add(cls)
        for base in cls.__mro__:
            for name, value in (*list(vars(base).items()), *_data_of_members(base)):
                if isinstance(value, type):
                    pending.append(value)
                for inner in sets_in(value):
                    found.setdefault(name, []).append(inner)
    return found


def _data_of_members(cls):
    """[(name, value)] of the attributes of an enumeration's members, which code may find without naming the member."""
    found = []
    for member in (held(cls, "_member_map_") or {}).values() if issubclass(cls, enum.Enum) else ():
        found += [*vars(member).items(), ("value", held(member, "_value_"))]
    return found


def sets_of_defaults(function):
    """[(name of an argument, set)]"""
    code, defaults = function.__code__, function.__defaults__ or ()
    named = zip(code.co_varnames[code.co_argcount - len(defaults):code.co_argcount], defaults)
    return [
        (name, inner) for name, value in (*named, *(function.__kwdefaults__ or {}).items()) for inner in sets_in(value)]
