"""Installed packages: which versions of them code comes to, and what of them runs in place of being traced, as a method of
a metaclass or of an enumeration does.

Of the latter, no guard knows of what it reads. Most of that stands in its own file, or in that of a class that it is a method
of, or that it names: these files are what they were, of whatever version their packages are said to be. Data is by value that
its globals hold, or these classes under a name that it says. Python's own are its version, and PyTorch's its digest, which the
key says.
"""

import functools
import os
import sys
import types

from ..bytecode.reads import names_in_code
from ..words.digests import digest_of
from ..words.plain_data import PlainData
from ..words.values import NotPortable, look_up, same_words
from ..words.versions import file_of, package_of, version_words
from .reach import look_along

_NO_FILE = "no file"


def installed_of(reached, describe):
    """JSON. `reached`: a reach.Reached."""
    codes = reached.untraced_of_packages
    modules = {module.__name__ for code in codes for module in reached.modules_of(code)}
    classes, values = set(reached.classes_run_of_packages), {}
    for code in codes:
        for module, names, value in reached.read_by(code):
            classes |= {found for count in range(1, len(names) + 1) if isinstance(found := look_along(module, names[:count]), type)}
            owner = look_along(module, names[:-1]) if names[:-1] else module
            if isinstance(owner, types.ModuleType) and file_of(owner.__name__) is not None and (words := _words(value, describe)) is not None:
                values[module.__name__, names] = words
    classes = {
        base for cls in classes for base in (*cls.__mro__, *type(cls).__mro__) if file_of(base.__module__) is not None}
    said = frozenset().union(*map(names_in_code, codes))
    data = {
        (path, name): words for cls in classes if look_up(path := f"{cls.__module__}:{cls.__qualname__}") is cls
        for name in said.intersection(vars(cls)) if (words := _words(vars(cls)[name], describe)) is not None}
    modules |= {cls.__module__ for cls in classes}
    packages = set(map(package_of, reached.module_names | modules)) - {None}
    return {
        "packages": [[name, version_words(name)] for name in sorted(packages)],
        "files": [[name, _digest_of_file(path)] for name in sorted(modules) if (path := file_of(name)) is not None],
        "data": [[*place, words] for place, words in sorted(data.items())],
        "values": [[module, list(names), words] for (module, names), words in sorted(values.items())]}


def first_difference(installed, describe):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for name, words in installed["packages"]:
        found = version_words(name)
        if found != words:
            return f"the installed package {name}", words, found
    for name, digest in installed["files"]:
        path = file_of(name)
        found = _NO_FILE if path is None else _digest_of_file(path)
        if found != digest:
            return f"the package's file of {name}", digest, found
    for path, name, expected in installed["data"]:
        found = None if (cls := look_up(path)) is None else _words(vars(cls).get(name), describe)
        if not same_words(found, expected):
            return f"{path}.{name}", expected, found
    for name, names, expected in installed["values"]:
        module = sys.modules.get(name)
        found = None if module is None else _words(look_along(module, names), describe)
        if not same_words(found, expected):
            return f"{name}.{'.'.join(names)}", expected, found
    return None


def _words(value, describe):
    """None where it is no data."""
    if callable(value):
        return None
    try:
        return PlainData(describe).words(value)
    except NotPortable:
        return None


def _digest_of_file(path):
    try:
        found = os.stat(path)
        return _digest(path, found.st_mtime_ns, found.st_size)
    except OSError:
        return _NO_FILE


@functools.cache
def _digest(path, changed_ns, size):
    with open(path, "rb") as file:
        return digest_of(file.read())
