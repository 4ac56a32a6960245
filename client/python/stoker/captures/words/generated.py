"""What Python's own modules generate for classes: named tuples, total orderings, data classes."""

import collections
import dataclasses
import functools
import types

from ..bytecode.reads import code_inside, makes_sets
from .held import held
from .installed import NAMED_TUPLES, is_named_tuples, is_pythons_file

_GENERATED = {
    code.co_name: code for code in collections.namedtuple.__code__.co_consts
    if isinstance(code, types.CodeType) and is_pythons_file(code.co_filename)}
_GENERATED["__replace__"] = _GENERATED.get("_replace")  # From CPython 3.13 on.
_Any = collections.namedtuple("_Any", "first")
_FIELD = type(_Any.first)


@dataclasses.dataclass
class _AnyData:
    made: list = dataclasses.field(default_factory=list)


_ORDERED = [
    functools.total_ordering(type("_AnyOrdered", (), {name: getattr(int, name)}))
    for name in ("__lt__", "__le__", "__gt__", "__ge__")]
_ORDERING = {
    id(value.__code__): value.__code__ for cls in _ORDERED for value in vars(cls).values()
    if isinstance(value, types.FunctionType) and is_pythons_file(value.__code__.co_filename)}
_REPEATING = vars(_AnyData)["__repr__"].__code__  # It calls another one, but in what this calls again.
MADE_BY_DEFAULT = _AnyData.__init__.__defaults__[0]  # In place of an argument.
_OUTER = _AnyData.__init__.__code__.co_qualname.partition(".")[0]
_MAKE = "_make"


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
    return [each for each in constants if is_maker(each)]


def is_generated(function, name):
    """Is it what Python generates under this name, besides the function that makes one?"""
    return type(function) is types.FunctionType and function.__code__ is _GENERATED.get(
        name) and function.__globals__ is vars(collections)


def makes_one(function):
    """Is it a function that makes one, and reads nothing but what it is given?"""
    return type(function) is types.FunctionType and is_named_tuples(function.__globals__) and (
        set(function.__code__.co_names) <= NAMED_TUPLES.keys() - {"__builtins__", "__name__"} and not function.__code__.co_freevars)


def is_field(value):
    """A descriptor that gives an item of a tuple."""
    return type(value) is _FIELD


def place_of(field):
    return field.__reduce__()[1][0]


def is_of_an_ordering(function):
    """Does it ask the one comparison that a class defines?"""
    return type(function) is types.FunctionType and id(function.__code__) in _ORDERING and (
        function.__globals__ is vars(functools))


def repeated(function):
    """The `__repr__` of a data class below what keeps it from calling itself; None for another function."""
    is_wrapper = type(function) is types.FunctionType and function.__code__ is _REPEATING and is_pythons_file(
        _REPEATING.co_filename)
    inner = held(function, "__wrapped__") if is_wrapper else None
    return inner if inner is not None and any(cell.cell_contents is inner for cell in function.__closure__) else None


def is_of_data_class(function):
    """Was its code made of the text of a data class? It makes no sets."""
    code = function.__code__
    return code.co_filename == "<string>" and code.co_qualname == f"{_OUTER}.<locals>.{code.co_name}" and not makes_sets(code)
