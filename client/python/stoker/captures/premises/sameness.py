"""Which of the objects that code reaches are one: what it changes through one path it reads through another."""

import enum
import sys
import types

import torch

from ...pytorch.tensors import NAMES_OF_BASES, base_of
from ..words.paths import Unreachable, text
from .chains import Mark, look_along

# What has guards of its own for being one, or is no object of the program's.
_WITHOUT_IDENTITY = (
    type(None), bool, type(...), type, enum.Enum, types.ModuleType, types.BuiltinFunctionType, types.MethodType,
    types.MappingProxyType, types.CodeType, torch.dtype, torch.device, Unreachable, Mark)
# What is as good as any other that equals it, but for `is`,
_VALUES = (int, float, complex, str, bytes, tuple, frozenset, range, slice)
# and of these, what Python has once.
_KEPT_ONCE = (*range(-5, 257), "", b"", (), frozenset())  # Texts of one character are not, whoever makes them.
_KEPT_ONCE = {(type(value), value) for value in _KEPT_ONCE}
# In the place of the number of a cell: the object of a bound method, and the tensor that another one is a view of.
_OWNER, _BASE = -1, -2
_ATTRIBUTES = {_OWNER: "__self__", _BASE: NAMES_OF_BASES[0]}


def identities_of(values, reached, describe):
    """[[place of a node, or [module, names], or [either, number of a cell, _OWNER or _BASE]]]: of each object all that lead
    to it. `reached`: a reach.Reached; what code reads of a module may be an object that it changes as an argument."""
    chains, compares_identity = reached.chains, reached.compares_identity
    reads_bases = any(describe.reads(each) for each in NAMES_OF_BASES)
    found = {}
    leading = [*enumerate(values), *(
        ([module, list(names)], value) for (module, names), value in sorted(chains.items(), key=lambda item: item[0]))]
    for path, value in leading:
        if _has_identity(value, compares_identity):
            found.setdefault(id(value), []).append(path)
        if isinstance(value, types.MethodType) and _has_identity(value.__self__, compares_identity):
            found.setdefault(id(value.__self__), []).append([path, _OWNER])
        if reads_bases and (base := base_of(value)) is not None:
            found.setdefault(id(base), []).append([path, _BASE])
        if isinstance(value, types.FunctionType):
            for number, cell in enumerate(value.__closure__ or ()):
                found.setdefault(id(cell), []).append([path, number])
    return list(found.values())


def _has_identity(value, compares_identity):
    if isinstance(value, _WITHOUT_IDENTITY):
        return False
    if type(value) not in _VALUES:
        return True
    if value != value:  # Containers find a NaN by what it is.
        return True
    return compares_identity and (type(value) in (slice, tuple) and value != () or (
        type(value) not in (slice, tuple) and (type(value), value) not in _KEPT_ONCE))


def first_difference(nodes, identities, values):
    """(what, expected, found) of the first one that is another object than it was, or None."""
    met, kept = {}, []  # Objects made on the way live on: another one might take their place.
    for paths in identities:
        first = _value_of(paths[0], values)
        kept.append(first)
        if isinstance(first, _WITHOUT_IDENTITY):
            continue  # Another kind of thing, which others compare.
        other = met.setdefault(id(first), paths)
        if other is not paths:
            return _text_of(paths[0], nodes), "an object of its own", _text_of(other[0], nodes)
        for path in paths[1:]:
            if _value_of(path, values) is not first:
                return _text_of(path, nodes), _text_of(paths[0], nodes), "another object"
    return None


# No closures, which would call themselves and keep a caller's arguments until the next collection.
def _value_of(path, values):
    if type(path) is int:
        return values[path]
    if path[1] == _OWNER:
        return getattr(_value_of(path[0], values), "__self__", None)
    if path[1] == _BASE:
        return base_of(_value_of(path[0], values))
    if type(path[1]) is int:
        cells = getattr(_value_of(path[0], values), "__closure__", None) or ()
        return cells[path[1]] if path[1] < len(cells) else None
    return look_along(sys.modules.get(path[0]), path[1])


def _text_of(path, nodes):
    if type(path) is int:
        return text(nodes, path)
    if type(path[1]) is int:
        return _text_of(path[0], nodes) + (
            f".{_ATTRIBUTES[path[1]]}" if path[1] in _ATTRIBUTES else f".__closure__[{path[1]}]")
    return ".".join((path[0], *path[1]))
