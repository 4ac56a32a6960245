"""NumPy's scalars, arrays, types of elements and functions. PyTorch has loaded NumPy where it is installed."""

import hashlib
import sys

import torch

from ...base.not_portable import NotPortable
from ...base.signals import let_through
from .held import held
from .installed import is_installed_file

_numpy = sys.modules.get("numpy")
_MAX_BYTES = 4096
_FUNCTIONS = ("_ArrayFunctionDispatcher", "ufunc")


def is_array(value):
    """Or a scalar. A subclass may behave in ways that its elements do not tell: a matrix multiplies otherwise."""
    return _numpy is not None and (type(value) is _numpy.ndarray or (
        isinstance(value, _numpy.generic) and type(value).__module__ == "numpy"))


def is_dtype(value):
    return _numpy is not None and isinstance(value, _numpy.dtype)


def is_function(value):
    """Is it one that takes other classes' arrays, too, or a universal one? No plain function, and no class."""
    kind = type(value)
    return _numpy is not None and kind.__module__ == "numpy" and kind.__name__ in _FUNCTIONS


def function_name(value):
    """Of one that NumPy's module holds under its name: what that does its version says."""
    module, name = held(value, "__module__"), held(value, "__qualname__") or held(value, "__name__")
    code = held(held(value, "_implementation"), "__code__")
    if held(sys.modules.get(module), name) is not value or code is not None and not is_installed_file(code.co_filename):
        raise NotPortable(f"a function of NumPy's that is not found under its name, {name}")
    return f"{module}:{name}"


def function_of(path):
    module, _, name = path.partition(":")
    found = held(sys.modules.get(module), name)
    if not is_function(found):
        raise LookupError(f"{path} is no function of NumPy's")
    return found


def array_as_tensor(value):
    """With the memory of an array, as Dynamo takes it."""
    if not is_array(value):
        raise TypeError(f"a {type(value).__name__} is no array")
    return torch.as_tensor(value)


def array_words(value):
    """By value."""
    if value.nbytes > _MAX_BYTES:
        raise NotPortable("an array of many elements, as an attribute of a class")
    return [type(value).__name__, dtype_words(value.dtype), list(value.shape), list(value.strides), value.flags.writeable,
            hashlib.sha256(value.tobytes()).hexdigest()]


def dtype_words(value):
    """Of those that are NumPy's own."""
    if value.isbuiltin != 1 or value.hasobject or value.metadata:
        raise NotPortable("a type of elements that a program made")
    # Two may be of the same size and kind: what long and long long are to C.
    for words in (value.str, value.char):
        if _is_made_of(value, words):
            return words
    raise NotPortable("a type of elements that no text tells")


def _is_made_of(value, words):
    try:
        found = _numpy.dtype(words)
    except TypeError as error:
        let_through(error)
        return False
    return found == value and (type(found), found.num, found.char) == (type(value), value.num, value.char)


def dtype_of(words):
    return _numpy.dtype(words)
