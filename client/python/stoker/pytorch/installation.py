"""Which PyTorch this is: its version, and a digest of the code that decides what Dynamo and AOTAutograd make."""

import functools
import marshal
import os
import sys
import types
import zlib
from pathlib import Path

import torch

from ..base.signals import let_through
from ..libstoker import source_digest

# Of the package torch, what has no part in a trace: it is imported by programs alone, or not in Python.
_WITHOUT = frozenset(("testing", "onnx", "_inductor", "include", "lib", "share", "bin"))
# Whatever is compiled anew has another size.
_LIBRARIES = ("lib/libtorch_cpu.so", "lib/libtorch_python.so", "lib/libc10.so")

# A version of marshal that tells nothing of which objects are one, and of which texts are interned.
BY_VALUE = 2

ROOT = os.path.dirname(torch.__file__) + os.sep


def version():
    return torch.__version__


@functools.cache
def digest():
    """64 hexadecimal digits, the same on every host: PyTorch's version, CPython's, PyTorch's source and the sizes of
    its libraries. A copy with one function changed has another."""
    return source_digest.digest(ROOT, _who(), _WITHOUT)


def place_of(code):
    """Where a code object stands in the files that digest() covers, which says what it is; None outside of them. A
    checksum tells it from one that was made of it (types.CodeType.replace)."""
    path = _covered(code.co_filename)
    if path is None:
        return None
    constants = [
        place_of(constant) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts if not isinstance(constant, frozenset)]  # Their order depends on the seed.
    try:
        words = marshal.dumps((constants, code.co_names), BY_VALUE)
    except ValueError as error:  # Code that was made with such a constant as no source has.
        let_through(error)
        words = repr((constants, code.co_names)).encode()
    checksum = zlib.crc32(words, zlib.crc32(code.co_code))
    return f"{path}:{code.co_firstlineno}:{code.co_qualname}:{checksum:08x}"


@functools.lru_cache(maxsize=4096)
def _covered(path):
    """Of a file that digest() covers: where it is there."""
    found = path_in(path)
    return None if found is None or found.partition("/")[0] in _WITHOUT else found


def path_in(path):
    """Of a file below the package torch: where it is there. None of another one."""
    return path[len(ROOT):] if path.startswith(ROOT) else None


def _who():
    sizes = [_size(Path(ROOT, name)) for name in _LIBRARIES]
    return (
        f"{version()}\n{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}\n{sizes}\n")


def _size(path):
    try:
        return path.stat().st_size
    except OSError as error:
        let_through(error)
        return None
