"""Which PyTorch this is: its version, and a digest of the code that decides what Dynamo and AOTAutograd make."""

import functools
import hashlib
import os
import sys
import types
import zlib
from pathlib import Path

import torch

from ..log import logger

# Of the package torch, what has no part in a trace: it is imported by programs alone, or not in Python.
_WITHOUT = frozenset(("testing", "onnx", "_inductor", "include", "lib", "share", "bin"))
# Whatever is compiled anew has another size.
_LIBRARIES = ("lib/libtorch_cpu.so", "lib/libtorch_python.so", "lib/libc10.so")

_ROOT = os.path.dirname(torch.__file__) + os.sep


def version():
    return torch.__version__


@functools.cache
def digest():
    """64 hexadecimal digits, the same on every host: PyTorch's version, CPython's, PyTorch's source and the sizes of
    its libraries. A copy with one function changed has another. Looking at the files takes some 8 ms; reading them,
    30 ms more, is remembered by a host for files whose sizes and times are the same."""
    root = Path(_ROOT)
    files = sorted(_sources(root))
    who = _who(root)
    remembered = _remembered_as(
        str(root), who, *(
            f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
            for path, status in files))
    found = _read(remembered)
    if found is not None:
        return found
    hasher = hashlib.sha256(who.encode())
    for path, _ in files:
        try:
            data = Path(root, path).read_bytes()
        except OSError as error:
            data = repr(error).encode()
        hasher.update(f"{path} {len(data)}\n".encode())
        hasher.update(data)
    _remember(remembered, hasher.hexdigest())
    return hasher.hexdigest()


def place_of(code):
    """Where a code object stands in the files that digest() covers, which says what it is; None outside of them. A
    checksum tells it from one that was made of it (types.CodeType.replace)."""
    path = code.co_filename
    if not path.startswith(_ROOT):
        return None
    path = path[len(_ROOT):]
    if path.partition("/")[0] in _WITHOUT:
        return None
    constants = [
        place_of(constant) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts if not isinstance(constant, frozenset)]  # Their order depends on the seed.
    checksum = zlib.crc32(repr((constants, code.co_names)).encode(), zlib.crc32(code.co_code))
    return f"{path}:{code.co_firstlineno}:{code.co_qualname}:{checksum:08x}"


def _who(root):
    sizes = [_size(root / name) for name in _LIBRARIES]
    return (
        f"{version()}\n{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}\n{sizes}\n")


def _size(path):
    try:
        return path.stat().st_size
    except OSError:
        return None


def _sources(root):
    """(path below root, status) of each file that counts. What is gone meanwhile, or leads nowhere, does not."""
    pending = [""]
    while pending:
        folder = pending.pop()
        for entry in os.scandir(f"{root}/{folder}"):
            try:
                if entry.is_dir():
                    if folder or entry.name not in _WITHOUT:
                        pending.append(f"{folder}{entry.name}/")
                elif entry.name.endswith(".py"):
                    yield folder + entry.name, entry.stat()
            except OSError as error:
                logger.debug("%s is no part of PyTorch: %s", entry.path, error)


def _remembered_as(*texts):
    """A file in the user's cache folder, which holds code already; None if there is no such folder."""
    folder = os.environ.get("STOKER_CACHE_DIR")
    if not folder:
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        if caches.startswith("~"):
            return None
        folder = os.path.join(caches, "stoker")
    return Path(folder, "installations", hashlib.sha256("\0".join(texts).encode()).hexdigest())


def _read(path):
    try:
        found = "" if path is None else path.read_text()
    except OSError:
        return None
    return found if len(found) == 64 else None


def _remember(path, text):
    if path is None:
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        made.write_text(text)
        made.replace(path)
    except OSError as error:
        logger.debug("PyTorch's digest is not remembered: %s", error)
