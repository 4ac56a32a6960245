"""What belongs to Python or to an installed package, and so to a version, and what is a program's own."""

import builtins
import collections
import functools
import os
import sys
import sysconfig
import types

import torch

from .held import EXTENSIONS, HEAPTYPE, held, module_name_of

# A virtual environment's folder for Python's own library holds nothing of that.
_PYTHONS = tuple({
    os.path.join(sysconfig.get_path(name, vars={"platbase": sys.base_exec_prefix}), "") for name in ("stdlib", "platstdlib")})
PACKAGES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("platlib", "purelib")})
_FROZEN, _SOURCE = "<frozen ", ".py"
NAMED_TUPLES = collections.namedtuple("_Any", "first").__new__.__globals__
_PARTS_OF_PYTHONS = ("pyexpat.errors", "pyexpat.model", "xml.parsers.expat.errors", "xml.parsers.expat.model")
_NAME = "namedtuple_"  # In place of a module's, behind which its own follows.
# PyTorch's own too, wherever it lies: a capture's key says what it is.
_FOLDERS = (*{*_PYTHONS, *PACKAGES}, torch.__file__.removesuffix("__init__.py"))


@functools.lru_cache(maxsize=4096)
def is_installed_file(path):
    """`path`: of a module, or of code: a file where Python and packages are installed, one that Python holds frozen, or one
    of no Python code."""
    return path.startswith((*_FOLDERS, _FROZEN)) or path.endswith(EXTENSIONS)


def lies_where_packages_are(path):
    """Or where Python's own library is."""
    return path.startswith(_with_real(_FOLDERS))


@functools.cache
def _with_real(folders):
    """With what these stand for, where they are links."""
    return (*folders, *(os.path.join(os.path.realpath(folder), "") for folder in folders))


def is_programs_extension(path):
    """A file of compiled code that lies where no package is installed: it is a version of itself."""
    return path.endswith(EXTENSIONS) and not path.startswith(_FOLDERS)


def is_installed_function(function):
    """Or one that an installed module made of text, or that computes with nothing else."""
    path = function.__code__.co_filename
    return is_installed_file(path) or not path.endswith(_SOURCE) and (
        are_packages(function.__globals__) or _is_of_package_with_globals(function))


def are_packages(global_values):
    """Are these the globals of an installed module, or of what named tuples are made with?"""
    if is_named_tuples(global_values):
        return True
    module = module_with(global_values)
    return module is not None and module.__name__ != "__main__" and is_installed_module(module)


def module_with(global_values):
    """The loaded module that has these globals, if it is found under its name; None for all others."""
    name = global_values.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module if held(module, "__dict__") is global_values else None


def is_named_tuples(global_values):
    """Are these the globals of the function that makes one? They hold one function of Python's, and no builtins."""
    return type(global_values) is dict and global_values.keys() == NAMED_TUPLES.keys() and all(
        str(value).startswith(_NAME) if name == "__name__" else value == NAMED_TUPLES[name]
        for name, value in global_values.items())


def _is_of_package_with_globals(function):
    """Is it a method, say, that a package made of text with globals of its own, for one of its modules?"""
    module = sys.modules.get(module_name_of(function))
    return module_with(function.__globals__) is None and "__name__" not in function.__globals__ and isinstance(
        module, types.ModuleType) and module is not builtins and is_installed_module(module)


def is_made_of_text(function):
    """Was its code made by `exec` or `eval`, and not for a named tuple, whose methods compute with nothing else?"""
    path = function.__code__.co_filename
    return not (path.endswith(_SOURCE) or is_installed_file(path) or is_named_tuples(function.__globals__))


def is_pythons_file(path):
    """Of its standard library."""
    return path.startswith(_PYTHONS) and not path.startswith(PACKAGES)


def is_frozen(code):
    """Of a module that Python holds within itself."""
    return code.co_filename.startswith(_FROZEN)


def is_installed_module(module):
    """Or one of Python's own, or one without a file in which no code ran: an extension's. One that no import made, and that
    is in the place of such a one, is a program's."""
    path = held(module, "__file__")
    if isinstance(path, str):
        return is_installed_file(path)
    if held(module, "__spec__") is None and not _is_part_of_an_extension(str(held(module, "__name__"))):
        return False
    return str(held(module, "__name__")).partition(".")[0] in sys.stdlib_module_names or (
        "__builtins__" not in (held(module, "__dict__") or ()))


@functools.cache
def _is_part_of_an_extension(name):
    """May an extension have made it? What packages' extensions make is not told apart from what Python code made."""
    return name.partition(".")[0] not in sys.stdlib_module_names or name in _PARTS_OF_PYTHONS


def is_installed(cls):
    """Does it say so? An extension's may say nothing."""
    module = sys.modules.get(module_name_of(cls))
    return module is not None and held(module, "__name__") != "__main__" and is_installed_module(module)


def is_programs_class(cls):
    """Is it made in Python, and no installed package's?"""
    return bool(cls.__flags__ & HEAPTYPE) and not is_installed(cls)
