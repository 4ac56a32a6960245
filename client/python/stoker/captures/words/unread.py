"""Functions of a program's classes that nothing asks for: neither code, by their names, nor Python or a package.

What another process adds under such a name, changes or takes away changes no result. Attributes that are no functions
count by their names alone (identity.py); of functions, more may ask.
"""

import functools
import io
import types

import torch

from ..bytecode.reads import code_inside
from .held import held
from .installed import is_programs_class

_FUNCTIONS = (types.FunctionType, staticmethod, classmethod, property)
_OF_COMPILER = "torchdynamo"  # In names that PyTorch's compiler asks objects for.
# Classes whose methods Python's own code and PyTorch's may call of an object that has them, too.
_OF_EVERYBODY = (
    torch.nn.Module, torch.Tensor, torch.autograd.Function, dict, list, tuple, str, bytes, int, float, complex, set, range,
    slice, BaseException, types.GeneratorType, types.CoroutineType, io.BufferedRandom, io.TextIOWrapper)


def askable(cls):
    """Names of the functions that a class defines itself, and which only code asks for that says them; () for a class whose
    functions decide what it is: an abstract one has no objects."""
    if type(cls) is not type or not is_programs_class(cls):
        return ()
    inherited = [vars(base) for base in cls.__mro__ if not is_programs_class(base)]
    return [
        name for name, value in vars(cls).items()
        if isinstance(value, _FUNCTIONS) and not name.startswith("_") and _OF_COMPILER not in name
        and name not in _asked_of_everybody() and not any(name in names for names in inherited)]


def names_called(code, classes):
    """Names in the code, and in functions of the classes that it may call: of those which it names, of those which these name,
    and of those that are asked for anyway."""
    functions = {}  # Name -> code objects.
    names, pending = set(), [code]
    for cls in {base for each in classes for base in each.__mro__ if is_programs_class(base)}:
        named = askable(cls)
        for name, value in vars(cls).items():
            (functions.setdefault(name, []) if name in named else pending).extend(_codes_of(value))
    while pending:
        for each in code_inside(pending.pop()):
            for name in set(each.co_names) - names:
                pending += functions.get(name, ())
            names.update(each.co_names)
    return frozenset(names)


def _codes_of(value):
    parts = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (held(value, "__func__") or value,)
    return [part.__code__ for part in parts if isinstance(part, types.FunctionType)]


@functools.cache
def _asked_of_everybody():
    return frozenset().union(*map(dir, _OF_EVERYBODY))
