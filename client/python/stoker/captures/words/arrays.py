"""NumPy's scalars, arrays and types of elements. PyTorch has loaded NumPy where it is installed."""

import hashlib
import sys

import torch

from ...base.not_portable import NotPortable

_numpy = sys.modules.get("numpy")
_MAX_BYTES = 4096


def is_array(value):
    """Or a scalar. A subclass may behave in ways that its elements do not tell: a matrix multiplies otherwise."""
    return _numpy is not None and (type(value) is _numpy.ndarray or (
        isinstance(value, _numpy.generic) and type(value).__module__ == "numpy"))


def is_dtype(value):
    return _numpy is not None and isinstance(value, _numpy.dtype)


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
    return value.str


def dtype_of(words):
    return _numpy.dtype(words)
