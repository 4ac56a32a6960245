"""What Python generates for a named tuple, of `collections.namedtuple` or `typing.NamedTuple`."""

import collections
import types

from ..bytecode.reads import code_inside
from .held import held

_GENERATED = {code.co_name: code for code in collections.namedtuple.__code__.co_consts if isinstance(code, types.CodeType)}
_Any = collections.namedtuple("_Any", "first")
_FIELD, _SCOPE = type(_Any.first), _Any.__new__.__globals__
_MAKE = "_make"
_NAME = "namedtuple_"  # In place of a module's, behind which its own follows.


def is_named_tuples(scope):
    """Are these the globals of the function that makes one? They hold one function of Python's, and no builtins."""
    return type(scope) is dict and scope.keys() == _SCOPE.keys() and all(
        str(value).startswith(_NAME) if name == "__name__" else value == _SCOPE[name] for name, value in scope.items())


def is_maker(value):
    """Is it the method that makes one of a named tuple's class from a sequence, as it was generated?"""
    return type(value) is types.MethodType and isinstance(value.__self__, type) and issubclass(
        value.__self__, tuple) and is_generated(value.__func__, _MAKE) and value == held(value.__self__, _MAKE)


def maker_of(cls):
    """ValueError where there is none."""
    maker = held(cls, _MAKE)
    if not is_maker(maker):
        raise ValueError(f"{cls} is no named tuple")
    return maker


def makers_in(codes):
    """Those among the constants of code, and of code in it: Dynamo has it make what a frame gives."""
    constants = [constant for code in codes for each in code_inside(code) for constant in each.co_consts]
    return list(filter(is_maker, constants))


def is_generated(function, name):
    """Is it what Python generates under this name, besides the function that makes one?"""
    return type(function) is types.FunctionType and function.__code__ is _GENERATED.get(name)


def is_field(value):
    """A descriptor that gives an item of a tuple."""
    return type(value) is _FIELD


def place_of(field):
    return field.__reduce__()[1][0]
