"""Installed packages: which versions of them code comes to, and what modules of theirs answer for themselves.

What of their code runs in place of being traced is looked into as a program's is (untraced.py). Python's own is its version, and
PyTorch's its digest, which the key says.
"""

import sys
import types

from ..words.compiled import Compiled
from ..words.held import held
from ..words.values import NotPortable
from ..words.versions import is_packages, package_of, version_words
from .module_names import are_there

_ANSWERING = ("__getattr__", "__dir__")


def installed_of(reached):
    """JSON. `reached`: a reach.Reached. NotPortable for a class in compiled code of the program's own: that runs in place of
    being traced, and may read anything."""
    compiled = Compiled()
    for cls in reached.all_classes:
        if compiled.made(cls):
            raise NotPortable(f"a class that the program's own compiled code made, {held(cls, '__qualname__')}")
    packages = {package_of(each) for each in reached.module_names} - {None}
    return [[name, version_words(name)] for name in sorted(packages)]


def first_difference(installed):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for name, words in installed:
        found = version_words(name)
        if found != words:
            return f"the installed package {name}", words, found
    return None


def answering(asked, by_programs):
    """The functions that answer for modules of packages which a program asks for what they do not hold: what a package asks
    for is of its version. `asked`: [(module's name, names, or ALL, those that were there)]; `by_programs`: names of modules.
    NotPortable where no function of a module's own does."""
    found = []
    for module_name, names, _ in asked:
        module = sys.modules.get(module_name)
        if module_name not in by_programs or not is_packages(module_name) or are_there(module, names):
            continue
        for name in _ANSWERING:
            function = vars(module).get(name)
            if isinstance(function, types.FunctionType):
                found.append(function)
            elif function is not None or name == _ANSWERING[0] and held(type(module), name) is not None:
                raise NotPortable("a module of a package that answers by no function")
    return found
