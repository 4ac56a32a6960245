"""What belongs to Python or to an installed package, and so to a version, and what is a program's own."""

import functools
import os
import sys
import sysconfig

import torch

from .digests import digest_of
from .held import HEAPTYPE, held

_PYTHONS, _PACKAGES = (
    tuple({sysconfig.get_path(name) for name in names}) for names in (("stdlib", "platstdlib"), ("platlib", "purelib")))
# PyTorch's own too, wherever it lies: a capture's key says what it is.
_FOLDERS = (
    *{*_PYTHONS, *_PACKAGES}, torch.__file__.removesuffix("__init__.py"))


@functools.cache
def packages():
    """A digest of the names and versions of all that was installed when it was first asked for."""
    return packages_now()


def packages_now():
    """A digest of the names and versions of all that is installed: a folder of metadata is named by both."""
    names = set()
    for folder in {*sys.path, *(folder for folder in _FOLDERS if folder.endswith("packages"))}:
        try:
            names.update(name for name in os.listdir(folder or os.curdir) if name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
    return digest_of(*sorted(names))


def is_installed_file(path):
    """`path`: of a source file. Code without a file is made by Python or by a package."""
    return path.startswith(_FOLDERS) or not path.endswith(".py")


def is_made_of_text(function):
    """Was its code made by `exec` or `eval`, and not for a named tuple, whose methods compute with nothing else?"""
    path, name = function.__code__.co_filename, function.__globals__.get("__name__")
    if path.endswith(".py") or path.startswith(_FOLDERS) or str(name).startswith("namedtuple_"):
        return False
    frozen = sys.modules.get(path.removeprefix("<frozen ").removesuffix(">"))
    return held(frozen, "__dict__") is not function.__globals__


def is_pythons_file(path):
    """Of its standard library."""
    return path.startswith(_PYTHONS) and not path.startswith(_PACKAGES)


def is_installed_module(module):
    """Or one of Python's own, or one that was made without a file."""
    return is_installed_file(held(module, "__file__") or "")


def is_installed(cls):
    module = sys.modules.get(cls.__module__)
    path = held(module, "__file__")
    return module is not None and module.__name__ != "__main__" and (
        path is None or is_installed_file(path))


def is_programs_class(cls):
    """Is it made in Python, and no installed package's?"""
    return bool(cls.__flags__ & HEAPTYPE) and not is_installed(cls)
