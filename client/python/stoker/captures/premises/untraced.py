"""What code that runs in place of being traced depends on: the world that it can come to (world.py)."""

import enum
import types

import torch

from ...pytorch import installation
from ...pytorch.marks import counts_as_constant
from ...pytorch.operators import operator_of, python_functions
from ..bytecode.closed import SPECIAL_METHODS
from ..words.held import HEAPTYPE, held
from ..words.installed import is_installed, is_installed_function, is_installed_module, is_programs_class
from ..words.plain_data import own_attributes
from ..words.values import NotPortable, class_path, look_up, same_words
from ..words.versions import is_packages, is_platforms_class, is_platforms_function
from .run_untraced import answers, require_traced
from .world import World

_CLASS, _FUNCTION, _OPERATOR = "class", "function", "operator"
_TAKE_NOTHING = ("__format__", "__set_name__", "__init_subclass__", "__new__", "__init__")  # Of the program's, but texts.
_TAKE_OBJECTS = ("__instancecheck__", "__subclasscheck__", "__subclasshook__")
_MAKE_OBJECTS = frozenset(("__init__", "__new__", "__post_init__", "__call__", "__class_getitem__"))
_DATA = (int, str, float, complex, bytes, bytearray, tuple, list, dict, set, frozenset)
_MAX_WRAPPERS = 16
_ANSWERS = ("__getattr__", "__getattribute__", "__class__")
_NAMES_OF_ALL = ("__name__", "__qualname__", "__class__")
_BUILTINS = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)


def untraced_of(reached, values, orders):
    """JSON; None where nothing runs so. `reached`: a reach.Reached; `values`: guarded objects, which may be given to such
    code; `orders`: whether the order of a set may be let out. NotPortable where what it may come to is not closed."""
    require_traced(reached)
    roots = _roots_of(reached)
    if not roots:
        return None
    world = World([_value_of(root) for root in roots], orders)
    _require_nothing_given(world, reached, values)
    return {"roots": roots, "orders": orders, "world": world.words}


def first_difference(untraced):
    """(what, expected, found) of the first one that is not what it was, or None."""
    values = [_value_of(root) for root in untraced["roots"]]
    for root, value in zip(untraced["roots"], values):
        if value is None:
            return f"untraced code of {root[1]}", "there", "not there"
    try:
        found = World(values, untraced["orders"]).words
    except NotPortable as error:
        return "what untraced code may read", "what it was", str(error)
    for expected, words in zip(untraced["world"], found):
        if not same_words(words, expected):
            return "what untraced code may read", str(expected), str(words)
    if len(found) != len(untraced["world"]):
        return "what untraced code may read", f"{len(untraced['world'])} values", f"{len(found)}"
    return None


# ---- the functions and classes from which the world is reached

def _roots_of(reached):
    roots = {repr(root): root for root in (
        *([_CLASS, class_path(cls)] for cls in reached.run_classes),
        *(_root_of_function(function, reached.operators) for function in reached.run_functions
          if not counts_as_constant(function)))}
    return [roots[key] for key in sorted(roots)]


def _root_of_function(function, operators):
    path = f"{held(function, '__module__')}:{held(function, '__qualname__')}"
    if _below(look_up(path)) is function:
        return [_FUNCTION, path]
    for name in operators:
        for place, each in enumerate(python_functions(operator_of(name)) or ()):
            if each is function:
                return [_OPERATOR, name, place]
    raise NotPortable("code that runs untraced and is not found under its name")


def _value_of(root):
    kind, path = root[:2]
    if kind == _OPERATOR:
        operator = operator_of(path)
        functions = None if operator is None else python_functions(operator)
        return functions[root[2]] if functions is not None and root[2] < len(functions) else None
    found = look_up(path)
    if kind == _FUNCTION:
        return _below(found)
    return found if isinstance(found, type) else None


def _below(value):
    """The function below what wraps it."""
    for _ in range(_MAX_WRAPPERS):
        inner = held(value, "__wrapped__") or held(value, "__func__")
        if inner is None:
            break
        value = inner
    return value if isinstance(value, types.FunctionType) else None


# ---- what it may be given

def _require_nothing_given(world, reached, met):
    """An argument may be a class, a function, a module or an object of the program that lies in no world: what such code
    reads of it must not be there, or guards say it."""
    if reached.run_functions and any(_is_patched(each) for each in world.reads):
        raise NotPortable("code that runs untraced and reads what the program put on tensors")
    functions = [function for each in reached.run_classes.values() for function in each]
    taking = [function for function in functions if function.__name__ not in _TAKE_NOTHING and _takes_more(function)]
    if not (taking or any(_takes_objects(each) for each in reached.run_classes) or any(_stays_in_graphs(root, reached.operators) for root in _roots_of(reached))):
        return
    if world.calls:
        raise NotPortable("code that runs untraced and may call what it is given")
    names = world.reads - SPECIAL_METHODS
    if not reached.run_functions and all(issubclass(cls, enum.Enum) for cls in reached.run_classes):
        names -= world.own_reads(functions)  # Of a member, or of the enumeration.
    given = [value for value in (*reached.of_programs_by_name, *met) if not world.has(value)]
    asking = [function for function in functions if function.__name__ in _TAKE_OBJECTS]
    if asking:
        _require_asking(World(asking, False), [value for value in met if _is_object_of_program(value)])
    is_of_packages = any(is_installed_function(each) for each in (*functions, *reached.run_functions))
    for value in given:
        if not (_is_platforms if is_of_packages else _is_packages)(value) and (_answers_all(value) or not names.isdisjoint(_attributes(value, world))):
            raise NotPortable("code that runs untraced and reads attributes of what it is given")
    if world.computes and any(
            _is_object_of_program(value) and not world.has(type(value)) and _has_methods(type(value)) for value in given):
        raise NotPortable("code that runs untraced and computes with what it is given")


def _require_asking(world, objects):
    """Methods that are given any object, in words that guards have: whether it has an attribute, and its class."""
    if world.computes or not world.reads <= SPECIAL_METHODS | {"__class__"}:
        raise NotPortable("code that runs untraced and computes with what it is given")
    if any(answers(cls, world.names) or "__class__" in vars(cls) for value in objects for cls in type(value).__mro__
           if is_programs_class(cls)):
        raise NotPortable("code that runs untraced and asks what answers")


def _takes_objects(cls):
    """Objects of this class need not lie in the world."""
    return issubclass(cls, _DATA) and not issubclass(cls, enum.Enum)


def _stays_in_graphs(root, operators):
    """May it be given constants? An operator gets tensors and numbers."""
    return root[0] == _FUNCTION and not any(
        each is _value_of(root) for name in operators for each in python_functions(operator_of(name)) or ())


def _is_object_of_program(value):
    return is_programs_class(type(value)) and not isinstance(value, type)


def _is_packages(value):
    if isinstance(value, types.ModuleType):
        return is_installed_module(value) and held(value, "__file__") is not None
    if isinstance(value, (type, types.FunctionType)):
        return is_installed(value)
    return not _is_object_of_program(value)


def _is_platforms(value):
    """Python's or PyTorch's: code of one package may read what another one holds."""
    if isinstance(value, types.ModuleType):
        return is_installed_module(value) and not is_packages(held(value, "__name__"))
    if isinstance(value, types.FunctionType):
        return is_platforms_function(value)
    return is_platforms_class(value if isinstance(value, type) else type(value))


def _answers_all(value):
    return any(name in vars(cls) for cls in type(value).__mro__ if is_programs_class(cls) for name in _ANSWERS) or isinstance(
        value, types.ModuleType) and not is_installed_module(value) and "__getattr__" in vars(value)


def _attributes(value, world):
    """Names of what it and its class hold, where these do not lie in the world."""
    if isinstance(value, types.ModuleType):
        return set(vars(value))
    if isinstance(value, types.FunctionType):
        return {*vars(value), *_NAMES_OF_ALL}
    classes, own = (value.__mro__, _NAMES_OF_ALL) if isinstance(value, type) else (type(value).__mro__, own_attributes(value))
    if isinstance(value, enum.Enum):
        own = (*own, "name", "value")
    return {*own, *(name for cls in classes if is_programs_class(cls) and not world.has(cls) for name in vars(cls))}


def _has_methods(cls):
    return any(
        name in SPECIAL_METHODS and name not in _MAKE_OBJECTS for base in cls.__mro__
        if is_programs_class(base) for name in vars(base))


def _is_patched(name):
    """Did the program give tensors something of this name?"""
    found = next((vars(cls)[name] for cls in torch.Tensor.__mro__ if name in vars(cls)), None)
    parts = (found.fget, found.fset, found.fdel) if isinstance(found, property) else (found,)
    return not all(_is_pytorchs(part) for part in parts)


def _is_pytorchs(part):
    function = held(part, "__func__") or part
    if isinstance(function, types.FunctionType):
        return installation.place_of(function.__code__) is not None
    return part is None or not type(part).__flags__ & HEAPTYPE and not callable(part) or isinstance(part, _BUILTINS)


def _takes_more(function):
    """Than the object whose method it is."""
    code = function.__code__
    return code.co_argcount + code.co_kwonlyargcount + bin(code.co_flags & 0b1100).count("1") > 1
