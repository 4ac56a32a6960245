"""Which version of an installed package this is: what it was installed from, file by file, says its metadata."""

import functools
import importlib.machinery
import os
import re
import sys

from ...pytorch import installation
from .digests import digest_of
from .held import held
from .installed import is_installed_file, is_pythons_file

_METADATA = (".dist-info", ".egg-info")
_FILES = re.compile(rb"^[^,\n]+\.(?:py|so|pyd),sha256=[^,\n]+", re.MULTILINE)
_OWN = frozenset(("stoker", "torch"))  # Their digests are in the key.
_MAX_FILES = 10_000


def package_of(module_name):
    """The name of the installed package that a loaded module is in; None for a program's, Python's and PyTorch's."""
    path = file_of(module_name)
    name = module_name.partition(".")[0]
    return None if path is None or name in _OWN else name


def file_of(module_name):
    """Where a loaded module of such a package is from."""
    path = held(sys.modules.get(module_name), "__file__")
    if not isinstance(path, str) or not is_installed_file(path) or is_pythons_file(path) or installation.path_in(path) is not None:
        return None
    return path


def version_words(package):
    """A digest of the files that it was installed from; None if it is not there."""
    path = held(sys.modules.get(package), "__file__") or _place_of(package)
    return None if path is None else _words(package, os.path.dirname(path), os.path.basename(path).startswith("__init__."))


def _place_of(package):
    """Of one that is not loaded, or of a namespace: a folder of one."""
    found = importlib.machinery.PathFinder.find_spec(package)
    if found is None or found.origin is not None:
        return found and found.origin
    return next((os.path.join(folder, "__init__.py") for folder in found.submodule_search_locations or ()), None)


@functools.cache
def _words(package, folder, is_folder):
    metadata = _metadata_of(package, os.path.dirname(folder) if is_folder else folder)
    record = _read(os.path.join(metadata, "RECORD")) if metadata else b""
    files = sorted(_FILES.findall(record))
    if files:
        return digest_of(b"\n".join(files))
    return digest_of(*sorted(_sources(folder if is_folder else None)))  # As copied there.


def _metadata_of(package, folder):
    """The folder of the metadata that names it: by its name, or among its files; None if there is none."""
    found = [os.path.join(folder, name) for name in _list(folder) if name.endswith(_METADATA)]
    named = [path for path in found if _plain(os.path.basename(path).partition("-")[0]) == _plain(package)]
    begins = re.compile(rb"^%s(?:/|\.)" % re.escape(package.encode()), re.MULTILINE)
    return next((path for path in (*named, *found) if begins.search(_read(os.path.join(path, "RECORD")))), None)


def _sources(folder):
    """Names and contents of its files of Python code."""
    if folder is None:
        return
    for place, (path, folders, names) in enumerate(os.walk(folder)):
        folders.sort()
        for name in names:
            if name.endswith(".py"):
                yield f"{os.path.relpath(path, folder)}/{name}: {digest_of(_read(os.path.join(path, name)))}"
        if place > _MAX_FILES:
            return


def _plain(name):
    return re.sub("[-_.]+", "-", name).lower()


@functools.cache
def _list(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
