"""Digests of folders of Python source. Reading the files is remembered by a host for as long as their sizes and times
are the same; looking at them is done without the interpreter's lock, beside a program that goes on."""

import hashlib
import os
from pathlib import Path

from ..base.log import logger
from ..base.signals import let_through
from . import library


def digest(root, who="", without=()):
    """64 hexadecimal digits, the same on every host: of a text, and of the path and content of each Python file below
    `root`. `without`: names in the folder that are left out."""
    listing = library.take_text(
        library.load().stoker_list_files, library.encode(os.fspath(root)), b".py", ",".join(sorted(without)).encode())
    remembered = _remembered_as(os.fspath(root), who, listing)
    found = _read(remembered)
    if found is not None:
        return found
    hasher = hashlib.sha256(who.encode())
    for line in listing.splitlines():
        path = line.rsplit(" ", 4)[0]
        try:
            data = Path(root, path).read_bytes()
        except OSError as error:
            let_through(error)
            data = repr(error).encode()
        hasher.update(f"{path} {len(data)}\n".encode())
        hasher.update(data)
    _remember(remembered, hasher.hexdigest())
    return hasher.hexdigest()


def _remembered_as(*texts):
    """A file in the user's cache folder, which holds code already; None if there is no such folder."""
    folder = os.environ.get("STOKER_CACHE_DIR")
    if not folder:
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        if caches.startswith("~"):
            return None
        folder = os.path.join(caches, "stoker")
    return Path(folder, "sources", hashlib.sha256("\0".join(texts).encode()).hexdigest())


def _read(path):
    try:
        found = "" if path is None else path.read_text()
    except OSError as error:
        let_through(error)
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
        let_through(error)
        logger.debug("a digest of sources is not remembered: %s", error)
