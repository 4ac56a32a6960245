"""What is installed, and which version of a package this is: what it was installed from, file by file, says its metadata."""

import functools
import importlib.machinery
import os
import re
import sys
import types
import zipfile

from ...base.signals import let_through
from ...pytorch import installation
from .digests import digest_of
from .held import EXTENSIONS, HEAPTYPE, held
from .installed import (
    PACKAGES, is_installed, is_installed_file, is_installed_function, is_programs_extension, is_pythons_file)

_METADATA = (".dist-info", ".egg-info")
_METADATA_IN_ARCHIVES = (*_METADATA, "egg-info")
_FILES = re.compile(rb"^(?!\.\.)(?![^,\n/]+\.dist-info/)[^,\n]+,sha256=[^,\n]+", re.MULTILINE)  # Those of a host lie outside.
_OF_C = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType)
_OF_ANY_CLASS = ("__dict__", "__weakref__")
_OWN = frozenset(("stoker", "torch"))  # Their digests are in the key.
_MAX_FILES = 10_000
_END_OF_HEADERS = re.compile(rb"\n[ \t]*\r?\n")
_BLOCK = 16 << 10


@functools.cache
def packages():
    """A digest of the names and versions of all that was installed when it was first asked for."""
    return digest_of(*sorted({name for _, name in _metadata()}))  # A folder of metadata is named by both.


def versions_now():
    """The same with what the metadata says of itself: a program that asks for a version gets it from there."""
    found = sorted({*((name, _headers(os.path.join(folder, name))) for folder, name in _metadata()), *_metadata_in_archives()})
    return digest_of(*[part for pair in found for part in pair])


def _metadata():
    """(folder, name of the metadata in it) of all that is installed."""
    for folder in {*sys.path, *PACKAGES}:
        try:
            yield from ((folder, name) for name in os.listdir(folder or os.curdir) if name.endswith(_METADATA))
        except OSError as error:
            let_through(error)
            continue


def _metadata_in_archives():
    """(name, checksum) of files of metadata in archives from which Python imports."""
    for path in [each for each in set(sys.path) if os.path.isfile(each)]:
        try:
            with zipfile.ZipFile(path) as archive:
                yield from (
                    (each.filename, b"%d" % each.CRC) for each in archive.infolist()
                    if each.filename.partition("/")[0].lower().endswith(_METADATA_IN_ARCHIVES))
        except (OSError, zipfile.BadZipFile) as error:
            let_through(error)
            continue


def _headers(path):
    """The part of the metadata that names its fields, as the version."""
    for file in (os.path.join(path, "METADATA"), os.path.join(path, "PKG-INFO"), path):  # An egg's may be a file.
        try:
            with open(file, "rb", buffering=0) as data:
                return _first_part(data)
        except OSError as error:
            let_through(error)
            continue
    return b""


def _first_part(file):
    """What comes before the first empty line: a project's whole description may follow."""
    found = b""
    while True:
        more = file.read(_BLOCK)
        if not more:
            return found
        found += more
        if (end := _END_OF_HEADERS.search(found)) is not None:
            return found[:end.start()].removesuffix(b"\r")


def is_platforms_class(cls):
    """Is it Python's or PyTorch's, or made in no Python code: what a version says?"""
    return not cls.__flags__ & HEAPTYPE or is_installed(cls) and not is_packages(cls.__module__) or any(
        isinstance(value, _OF_C) and held(value, "__objclass__") is cls and name not in _OF_ANY_CLASS for name, value in vars(cls).items())


def is_platforms_function(function):
    """Is it Python's or PyTorch's?"""
    path = function.__code__.co_filename
    if not is_installed_function(function):
        return False
    if is_installed_file(path):
        return not _is_packages_file(path)
    return not is_packages(held(function, "__module__"))


def is_packages(module_name):
    """Is it a loaded module of an installed package's code, but Python's and PyTorch's?"""
    return isinstance(module_name, str) and file_of(module_name) is not None


def package_of(module_name):
    """The name of the installed package that a loaded module is in, or its own where it is an extension of the program's;
    None for a program's, Python's and PyTorch's."""
    path = file_of(module_name)
    name = module_name.partition(".")[0]
    if path is None or name in _OWN:
        return None
    return module_name if is_programs_extension(path) else name


def file_of(module_name):
    """Where a loaded module of such a package is from."""
    path = held(sys.modules.get(module_name), "__file__")
    return path if isinstance(path, str) and _is_packages_file(path) else None


def _is_packages_file(path):
    return is_installed_file(path) and not is_pythons_file(path) and not path.startswith("<") and installation.path_in(path) is None


def version_words(package):
    """A digest of the files that it was installed from; None if it is not there."""
    path = held(sys.modules.get(package), "__file__")
    if path is not None:
        return _words(package, path)
    found = importlib.machinery.PathFinder.find_spec(package)
    if found is None:
        return None
    if found.origin is not None:
        return _words(package, found.origin)
    # A namespace: each of its folders may be of several distributions.
    return digest_of(*sorted(_words_of_namespace(package, folder) for folder in found.submodule_search_locations or ()))


@functools.cache
def _words(package, path):
    """`path`: of the file that is the package, or of the one in its folder."""
    folder = os.path.dirname(path)
    is_folder = os.path.basename(path).startswith("__init__.")
    metadata = next(_metadata_of(package, os.path.dirname(folder) if is_folder else folder), None)
    return _words_of([metadata] if metadata else [], folder if is_folder else path)


@functools.cache
def _words_of_namespace(package, folder):
    return _words_of(list(_metadata_of(package, os.path.dirname(folder))), folder)


def _words_of(metadata, folder):
    """`folder`: of its sources, where they were copied there without metadata, or its one file."""
    files = sorted(set().union(*(_FILES.findall(_read(os.path.join(path, "RECORD"))) for path in metadata)))
    return digest_of(b"\n".join(files)) if files else digest_of(*sorted(_sources(folder)))  # As copied there.


def _metadata_of(package, folder):
    """The folders of the metadata that has it among its files: by its name first."""
    found = [os.path.join(folder, name) for name in _list(folder) if name.endswith(_METADATA)]
    named = [path for path in found if _plain(os.path.basename(path).partition("-")[0]) == _plain(package)]
    begins = re.compile(rb"^%s(?:/|\.)" % re.escape(package.encode()), re.MULTILINE)
    return (path for path in (*named, *found) if begins.search(_read(os.path.join(path, "RECORD"))))


def _sources(folder):
    """Names and contents of its files of Python code."""
    if not os.path.isdir(folder):  # One file, or in an archive.
        while folder and not os.path.exists(folder):
            folder = os.path.dirname(folder)
        yield digest_of(_read(folder))
    for place, (path, folders, names) in enumerate(os.walk(folder)):
        folders.sort()
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in names:
            if name.endswith((".py", ".pyc", *EXTENSIONS)):
                yield f"{os.path.relpath(path, folder)}/{name}: {digest_of(_read(os.path.join(path, name)))}"
        if place > _MAX_FILES:
            return


def _plain(name):
    return re.sub("[-_.]+", "-", name).lower()


@functools.cache
def _list(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        let_through(error)
        return []


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        let_through(error)
        return b""
