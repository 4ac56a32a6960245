"""Values in a form that means the same in every process: JSON, with a tag where JSON has no such type.

encode() takes exact types alone: a subclass may behave in ways that its value does not tell.
"""

import base64
import builtins
import enum
import functools
import importlib
import operator
import re
import sys
import types
import typing

import torch

from ...base.not_portable import NotPortable
from ...base.signals import let_through
from ...pytorch.operators import OpOverload
from ..bytecode.reads import is_ordered_by_history
from .arrays import dtype_of, dtype_words, function_name, function_of, is_dtype, is_function
from .held import held, module_of_class
from .installed import is_installed, is_installed_function
from .numbers import float_of, float_words

# What these are without what a subclass makes of them.
DATA_TYPES = {
    int: int.__int__, str: str.__str__, float: float.__float__, complex: complex.__complex__,
    bytes: lambda value: bytes(memoryview(value)), tuple: lambda value: tuple(tuple.__iter__(value))}
MAX_ITEMS = 4096  # Of one container: a longer one is data, not a constant.
_EXACT_IN_JSON = 1 << 53
_TORCH_TYPES = (torch.dtype, torch.layout, torch.memory_format)
_SPECIAL_FORMS = (type(typing.Union), type(typing.Any), type(typing.List))
# Classes of Python's own that their module does not hold under their name.
_IN_TYPES = {id(value): f"types:{name}" for name, value in vars(types).items() if type(value) is type and not hasattr(builtins, name)}
_LIMITS = {"finfo": torch.finfo, "iinfo": torch.iinfo}


def encode(value):
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value)
    if isinstance(value, enum.Enum):
        return {"enum": [class_path(kind), value.name, *_data_of_member(value)]}
    if isinstance(value, type):
        return {"class": class_path(value)}
    if isinstance(value, OpOverload):
        return {"op": operator_path(value)}
    if kind in _SPECIAL_FORMS and held(typing, name := held(value, "_name")) is value:
        return {"typing": name}
    if is_dtype(value):
        return {"elements": dtype_words(value)}
    if is_function(value):
        return {"of arrays": function_name(value)}
    raise NotPortable(f"a value of type {kind.__module__}.{kind.__qualname__}")


def data_of(value):
    """[what Python's operations compute with on an instance of a subclass of int, str ...]; [] for others."""
    for base, plain in DATA_TYPES.items():
        if isinstance(value, base):
            return [encode(plain(value))]
    return []


def _data_of_member(member):
    """Of an enumeration with a data type (IntEnum, StrEnum)."""
    found = data_of(member)
    if not found and type(member)._member_type_ is not object:
        raise NotPortable("a member of an enumeration with a data type of its own")
    return found


def _member(body):
    found = getattr(_class(body[0]), body[1])
    if encode(found) != {"enum": body}:
        raise LookupError(f"{found} is another value")
    return found


def decode(portable):
    """Raises what the look-up of a class, an operator or an enumeration raises when it is not there."""
    if not isinstance(portable, dict):
        if portable is None or isinstance(portable, (bool, str, int)):
            return portable
        raise ValueError(f"{type(portable).__name__} is no portable value")
    (tag, body), = portable.items()
    return _DECODERS[tag](body)


def same_words(found, expected):
    """Do these stand for one value? JSON is the same where Python says so, and True is not 1."""
    return found == expected and repr(found) == repr(expected)


def class_path(cls):
    path = _IN_TYPES.get(id(cls)) or f"{module_of_class(cls)}:{cls.__qualname__}"
    if look_up(path) is not cls:
        raise NotPortable("a class that its module does not hold under its name")
    return path


def _encode_function(function):
    """What an installed module holds under its name is what its version says; a program's own is its code, which has no
    words here."""
    path = f"{function.__module__}:{function.__qualname__}"
    installed = is_installed(function) and is_installed_function(function)
    if not installed or look_up(path) is not function:
        raise NotPortable(f"a value of type builtins.function, {function.__qualname__}")
    return {"function": path}


def look_up(path):
    """What "module:qualified.name" stands for among the modules that are loaded; None if nothing."""
    module, _, name = path.partition(":")
    found = sys.modules.get(module)
    try:
        for part in name.split("."):
            found = getattr(found, part, None)
    except Exception as error:  # A program's __getattr__ may raise anything.
        let_through(error)
        return None
    return found


def operator_path(operator):
    return str(operator)  # aten.add.Tensor


def _operator(path):
    namespace, name, overload = path.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def _class(path):
    return _imported(path, type, "class")


def _imported(path, kind, name):
    found = look_up(path)
    if not isinstance(found, kind):
        importlib.import_module(path.partition(":")[0])
        found = look_up(path)
    if not isinstance(found, kind):
        raise LookupError(f"{path} is no {name}")
    return found


def _items(values):
    if len(values) > MAX_ITEMS:
        raise NotPortable("a container of many items")
    return [encode(value) for value in values]


def _in_order(values):
    """The items of a set, as they come where that is the same in every process that fills it so."""
    return _items(values) if is_ordered_by_history(values) else sorted(_items(values), key=repr)


def _encode_int(value):
    return value if abs(value) < _EXACT_IN_JSON else {"int": hex(value)}


def _limits_of(body):
    return _LIMITS[body[0]](_torch_constant(body[1]))


def _torch_constant(name):
    value = getattr(torch, name.removeprefix("torch."))
    if not isinstance(value, _TORCH_TYPES):
        raise ValueError(f"{name} is no constant")
    return value


_ENCODERS = {
    int: _encode_int,
    float: lambda value: {"float": float_words(value)},
    complex: lambda value: {"complex": [float_words(value.real), float_words(value.imag)]},
    bytes: lambda value: {"bytes": base64.b64encode(value).decode()},
    tuple: lambda value: {"tuple": _items(value)},
    list: lambda value: {"list": _items(value)},
    set: lambda value: {"set": _in_order(value)},
    frozenset: lambda value: {"frozenset": _in_order(value)},
    dict: lambda value: {"dict": _items([pair for pair in value.items()])},
    torch.Size: lambda value: {"size": _items(tuple(value))},
    slice: lambda value: {"slice": _items((value.start, value.stop, value.step))},
    range: lambda value: {"range": _items((value.start, value.stop, value.step))},
    type(Ellipsis): lambda value: {"ellipsis": None},
    torch.device: lambda value: {"device": str(value)},
    re.Pattern: lambda value: {"pattern": [encode(value.pattern), value.flags]},
    types.UnionType: lambda value: {"union": _items(value.__args__)},
    types.ModuleType: lambda value: {"module": value.__name__},
    types.FunctionType: _encode_function,
    **dict.fromkeys(_TORCH_TYPES, lambda value: {"torch": str(value)}),
    **dict.fromkeys(_LIMITS.values(), lambda value: {"limits": [type(value).__name__, f"torch.{value.dtype}"]}),
}

_DECODERS = {
    "int": lambda body: int(body, 16),
    "float": float_of,
    "complex": lambda body: complex(*(float_of(each) for each in body)),
    "bytes": lambda body: base64.b64decode(body, validate=True),
    "tuple": lambda body: tuple(decode(each) for each in body),
    "list": lambda body: [decode(each) for each in body],
    "set": lambda body: {decode(each) for each in body},
    "frozenset": lambda body: frozenset(decode(each) for each in body),
    "dict": lambda body: dict(decode(each) for each in body),
    "size": lambda body: torch.Size(decode(each) for each in body),
    "slice": lambda body: slice(*(decode(each) for each in body)),
    "range": lambda body: range(*(decode(each) for each in body)),
    "ellipsis": lambda body: Ellipsis,
    "device": torch.device,
    "pattern": lambda body: re.compile(decode(body[0]), body[1]),
    "union": lambda body: functools.reduce(operator.or_, (decode(each) for each in body)),
    "typing": lambda name: getattr(typing, name),
    "module": importlib.import_module,
    "torch": _torch_constant,
    "enum": _member,
    "class": _class,
    "function": lambda path: _imported(path, types.FunctionType, "function"),
    "op": _operator,
    "elements": dtype_of,
    "of arrays": function_of,
    "limits": _limits_of,
}
