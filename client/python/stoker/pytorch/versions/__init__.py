"""What differs between versions of PyTorch: one module for each that brought a difference, picked once."""

import functools
import importlib

import torch

# First version -> its adapter, newest first. A version that is newer than all gets the newest.
_ADAPTERS = (((2, 12), "v2_12"), ((2, 11), "v2_11"))
OLDEST = ".".join(map(str, _ADAPTERS[-1][0]))


def number_of(version):
    """(major, minor) of "2.15.0+cu132"."""
    return tuple(map(int, version.split(".")[:2]))


@functools.cache
def adapter():
    """The module for this PyTorch. One that is too old gets the oldest's; facts.py turns it down."""
    found = number_of(torch.__version__)
    name = next((name for first, name in _ADAPTERS if found >= first), _ADAPTERS[-1][1])
    return importlib.import_module(f"{__name__}.{name}")


def is_too_old():
    return number_of(torch.__version__) < _ADAPTERS[-1][0]
