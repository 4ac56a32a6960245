"""Which PyTorch this is: its version, and a digest of the code that decides what Dynamo and AOTAutograd make."""

import functools
import hashlib
import os
import sys
from pathlib import Path

import torch

from ..log import logger

# Of the package torch: what traces, guards, makes graphs functional and reasons about sizes.
_FOLDERS = ("_dynamo", "_functorch", "_subclasses", "fx/experimental")
_FILES = ("_guards.py",)


def version():
    return torch.__version__


@functools.cache
def digest():
    """64 hexadecimal digits, the same on every host: PyTorch's version without its build, CPython's, and the source
    of what traces. A copy with one function changed has another. Hashing takes some 10 ms (30 from a cold disk):
    a host remembers it by names, sizes and times of the files."""
    root = Path(torch.__file__).parent
    files = sorted(_sources(root))
    remembered = _folder() / _digest_of(
        str(root), _who(), *(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in files))
    try:
        found = remembered.read_text()
        if len(found) == 64:
            return found
    except OSError:
        pass
    hasher = hashlib.sha256(_who().encode())
    for path, _ in files:
        data = Path(root, path).read_bytes()
        hasher.update(f"{path} {len(data)}\n".encode())
        hasher.update(data)
    _remember(remembered, hasher.hexdigest())
    return hasher.hexdigest()


def _who():
    return (
        f"{version().partition('+')[0]}\n{sys.implementation.name} "
        f"{sys.version_info.major}.{sys.version_info.minor}\n")


def _sources(root):
    """(path below root, status) of each file that counts."""
    pending = [root / folder for folder in _FOLDERS]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir():
                pending.append(entry.path)
            elif entry.name.endswith(".py"):
                yield os.path.relpath(entry.path, root), entry.stat()
    for name in _FILES:
        yield name, (root / name).stat()


def _digest_of(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _folder():
    """In the user's cache folder, which holds code already."""
    chosen = os.environ.get("STOKER_CACHE_DIR")
    return Path(chosen or Path.home() / ".cache" / "stoker") / "installations"


def _remember(path, text):
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        made.write_text(text)
        made.replace(path)
    except OSError as error:
        logger.debug("PyTorch's digest is not remembered: %s", error)
