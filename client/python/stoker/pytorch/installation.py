"""Which PyTorch this is: its version, and a digest of the code that Stoker's private names are in."""

import functools
import hashlib
import sys
from pathlib import Path

import torch

from . import versions
from .names import NAMES


def version():
    return torch.__version__


@functools.cache
def digest():
    """64 hexadecimal digits, the same on every host: PyTorch's version without its build, CPython's, and the source
    of each module that a name is in. A copy with one function changed has another."""
    hasher = hashlib.sha256(
        f"{version().partition('+')[0]}\n{sys.implementation.name} "
        f"{sys.version_info.major}.{sys.version_info.minor}\n".encode())
    root = Path(torch.__file__).parent.parent
    for module in sorted({name.path.partition(":")[0] for name in (*NAMES, *versions.adapter().NAMES)}):
        for path in (root / f"{module.replace('.', '/')}.py", root / module.replace(".", "/") / "__init__.py"):
            if path.is_file():
                data = path.read_bytes()
                hasher.update(f"{module} {len(data)}\n".encode())
                hasher.update(data)
    return hasher.hexdigest()
