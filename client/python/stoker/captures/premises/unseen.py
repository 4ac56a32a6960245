"""Code that runs in place of being traced, and what it may come to: no guard knows of any of it."""

import collections
import enum
import functools
import types

import torch

from ...base.signals import let_through
from ..words.held import HEAPTYPE, held
from ..words.installed import is_programs_class
from ..words.plain_data import own_attributes
from ..words.values import NotPortable
from .held_sets import Met

_MAX_VALUES = 20_000
_SEQUENCES = (list, tuple, set, frozenset, collections.deque)
_MAPPINGS = (dict, types.MappingProxyType)
_WRAPPERS = ("__func__", "__self__", "__origin__", "fget", "func")  # Attributes of what stands for something else.
_WRAPPING = (
    staticmethod, classmethod, property, functools.cached_property, types.MethodType, types.GenericAlias)
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, types.CodeType, types.ModuleType)


def may_run(roots, codes, names_of, names_in):
    """Of `codes`, those that the roots may run, with them: what bears a name that is in one of these, and all special
    methods and functions without a name. `names_of`: {id of a code object: names that it bears besides its own};
    `names_in`: of a code object."""
    found, pending, by_name = {}, list(roots), {}
    for code in codes:
        for name in (code.co_name, *names_of.get(id(code), ())):
            by_name.setdefault(None if _is_called_unnamed(name) else name, []).append(code)
    if pending:
        pending += by_name.get(None, ())
    while pending:
        code = pending.pop()
        if id(code) not in found:
            found[id(code)] = code
            for name in names_in(code):
                pending += by_name.get(name, ())
    return list(found.values())


def _is_called_unnamed(name):
    return name in (None, "<lambda>") or name.startswith("__") and name.endswith("__")


def met_in(roots):
    """[Met] of all that lies in these, with the name that leads to it: of an attribute, a variable, or what it lies in."""
    found, pending, seen = [], list(roots), {}
    while pending:
        met = pending.pop()
        if isinstance(met.value, torch.Tensor) or type(met.value) in _PLAIN:
            continue
        key = (id(met.value), *met[:2])
        if key in seen:
            continue
        seen[key] = met  # Which keeps it alive: another one might take its place.
        if len(seen) > _MAX_VALUES:
            raise NotPortable(f"more than {_MAX_VALUES} values that code may read while it is not traced")
        found.append(met)
        pending += _inside(met)
    return found


def _inside(met):
    value = met.value
    if isinstance(value, _MAPPINGS):
        items = dict.items(value) if isinstance(value, dict) else value.items()
        inner = [met._replace(value=part) for item in items for part in item]
    elif isinstance(value, _SEQUENCES):
        base = next(kind for kind in _SEQUENCES if isinstance(value, kind))
        inner = [met._replace(value=item) for item in base.__iter__(value)]
    elif isinstance(value, functools.partial):
        return [Met(None, False, part) for part in (value.func, *value.args, *value.keywords.values())]
    elif isinstance(value, types.FunctionType):
        return [*cells_of(value), *(Met(name, False, part) for name, part in vars(value).items())]
    elif isinstance(value, type):
        return data_of(value)
    elif isinstance(value, _BOUND):
        return [Met(None, False, value.__self__)]
    else:
        inner = [met._replace(value=held(value, name)) for name in _WRAPPERS] if isinstance(value, _WRAPPING) else []
    if isinstance(value, enum.Enum):
        inner.append(Met("value", False, held(value, "_value_")))
    if type(value).__flags__ & HEAPTYPE:
        inner += [Met(name, False, part) for name, part in own_attributes(value).items()]
    return inner


def data_of(cls):
    """[Met] of what a program's class and its bases hold."""
    return [
        Met(name, False, value) for base in cls.__mro__ if is_programs_class(base)
        for name, value in list(vars(base).items())]


def cells_of(function):
    """[Met] of the outer variables of a function."""
    found = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found.append(Met(name, True, cell.cell_contents))
        except ValueError as error:
            let_through(error)
            continue
    return found
