"""What belongs to Python or to an installed package, and so to a version, and what is a program's own."""

import sys
import sysconfig

import torch

# PyTorch's own too, wherever it lies: a capture's key says what it is.
_FOLDERS = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    torch.__file__.removesuffix("__init__.py"))


def is_installed_file(path):
    """`path`: of a source file. Code without a file is made by Python or by a package."""
    return path.startswith(_FOLDERS) or not path.endswith(".py")


def is_installed(cls):
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    return module is not None and module.__name__ != "__main__" and (
        path is None or is_installed_file(path))
