"""The kinds of portable guards: what each compares. A guard is [node, kind, expected, where].

matches(kind, value, expected, describe) tells whether a live value is what it was. Types count: True is
not 1, and a subclass is not its base.
"""

import gc
import types

import torch

from ...base.signals import let_through
from ...pytorch.tensors import dynamic_dims, keys_number
from ..words.held import HEAPTYPE, module_name_of
from ..words.installed import is_installed, is_installed_file
from ..words.numbers import is_nan
from ..words.orders import order_words
from ..words.paths import Unreachable
from ..words.values import NotPortable, data_of, decode, encode, same_words

_NOT_THERE = object()


def tensor_words(tensor, size, stride):
    """What kernels and eager operators are specialized to. A dim is None where it is symbolic."""
    return {
        "dtype": str(tensor.dtype), "device": tensor.device.type,
        "requires_grad": tensor.requires_grad, "size": size, "stride": stride,
        "keys": keys_number(tensor)}


def keys_of(mapping):
    if type(mapping) is types.MappingProxyType:
        mapping, = gc.get_referents(mapping)
    if not isinstance(mapping, dict):
        raise NotPortable(f"the keys of a {type(mapping).__name__}")
    return [_key(key) for key in dict.keys(mapping)]


def own_keys_of(registry):
    """The same, but for what an installed package says of its own classes, as it does when it is imported."""
    return [_key(key) for key, value in dict.items(registry) if not _is_packages(key, value)]


def _is_packages(cls, value):
    if not (isinstance(cls, type) and isinstance(value, types.FunctionType)):
        return False
    packages = {module_name_of(each).partition(".")[0] for each in (cls, value)}
    return len(packages) == 1 and is_installed(cls) and is_installed_file(value.__code__.co_filename)


def _key(key):
    """Classes of Python's own (that of functions) need not stand under their names."""
    return ["class", key.__module__, key.__qualname__] if isinstance(key, type) and not key.__flags__ & HEAPTYPE else encode(key)


def _equals(value, expected, describe):
    wanted = decode(expected)
    if type(value) is not type(wanted):
        return False
    return (value == wanted or is_nan(value)) and same_words(encode(value), expected)


def _tensor(value, expected, describe):
    if not isinstance(value, torch.Tensor) or value.dim() != len(expected["size"]):
        return False
    size = [
        None if wanted is None else found for wanted, found in zip(expected["size"], value.shape)]
    stride = [
        None if wanted is None else found
        for wanted, found in zip(expected["stride"], value.stride())]
    return tensor_words(value, size, stride) == expected


def _type(value, expected, describe):
    return list(describe.class_words(type(value))) == expected


def _length(value, expected, describe):
    return len(value) == expected


_KINDS = {
    "equals": _equals,
    "order": lambda value, expected, describe: same_words(order_words(value), expected),
    "is": lambda value, expected, describe: describe(value) == expected,
    "type": _type,
    "tensor": _tensor,
    "length": _length,
    "data": lambda value, expected, describe: same_words(data_of(value), expected),
    "keys": lambda value, expected, describe: same_words(keys_of(value), expected),
    "own keys": lambda value, expected, describe: same_words(own_keys_of(value), expected),
    "contains": lambda value, expected, describe: decode(expected) in value,
    "lacks": lambda value, expected, describe: decode(expected) not in value,
    "has attribute": lambda value, expected, describe: hasattr(value, expected),
    "has no attribute": lambda value, expected, describe: not hasattr(value, expected),
    "own attributes lack": lambda value, expected, describe: (
        expected not in object.__getattribute__(value, "__dict__")),
    "dynamic": lambda value, expected, describe: (
        dynamic_dims(value).issubset(expected)),
}


def matches(kind, value, expected, describe):
    holds = _KINDS[kind]  # KeyError for a capture that is damaged.
    if type(value) is Unreachable:
        return False
    try:
        return holds(value, expected, describe)
    except Exception as error:  # Of another type, which has no such thing, or whatever its methods raise.
        let_through(error)
        return False


def found_text(kind, value, describe):
    """What a failed guard found, for people."""
    try:
        return _text(kind, value, describe)
    except Exception as error:  # Whatever its methods raise.
        let_through(error)
        return f"something that raises {type(error).__name__}"


def _text(kind, value, describe):
    if type(value) is Unreachable:
        return f"nothing ({value.why})"
    if kind == "tensor" and isinstance(value, torch.Tensor):
        return str(tensor_words(value, list(value.shape), list(value.stride())))
    if kind == "length":
        return f"length {len(value)}"
    if kind == "type":
        return str(describe.class_words(type(value)))
    if kind == "keys":
        return str([key if isinstance(key, (str, int)) else type(key) for key in value])
    if kind == "is":
        try:
            return str(describe(value))
        except NotPortable:
            pass
    return repr(value)[:200]
