"""Loaded modules by the code that runs in them."""

import sys

from ..words.held import held
from ..words.installed import are_packages, is_installed_file, is_named_tuples, module_with


_known = {}, {}  # When they were last looked through: modules by name, each with its path; and what was found.


def _by_file():
    """Path -> the loaded modules of this file. Read alone."""
    global _known
    before, found = _known
    loaded = {name: _with_path(name, module, before.get(name)) for name, module in dict(sys.modules).items()}
    if loaded.keys() != before.keys() or any(before[name] is not entry for name, entry in loaded.items()):
        found = {}
        for module, path in loaded.values():
            if path is not None:
                found.setdefault(path, []).append(module)
        _known = loaded, found
    return found


def _with_path(name, module, known):
    """(the module, the path of its file if it is the module of this name)"""
    if known is not None and known[0] is module:
        return known
    path = held(module, "__file__")
    return module, path if isinstance(path, str) and held(module, "__name__") == name else None


class Modules:
    """By code, as far as it is known what it runs with."""

    def __init__(self, scopes):
        """`scopes`: [(code object, globals with which it was traced)]"""
        self._by_file, self._scopes = _by_file(), {}
        for code, global_values in scopes:
            self.add(code, global_values)

    def add(self, code, global_values):
        """Of a function with this code."""
        known = self._scopes.setdefault(id(code), [])
        if not any(global_values is each for each in known):
            known.append(global_values)

    def of(self, code):
        """All that it is known to run in, or whose file it is from."""
        scopes = self._scopes.get(id(code))
        found = [module for each in scopes or () if (module := module_with(each)) is not None]
        if found or scopes and not is_installed_file(code.co_filename):
            return found
        return self._by_file.get(code.co_filename, [])

    def is_installed(self, code):
        path, scopes = code.co_filename, self._scopes.get(id(code), ())
        return is_installed_file(path) or not path.endswith(".py") and bool(scopes) and all(are_packages(each) for each in scopes)

    def is_beside(self, code):
        """May it run with globals that are no module's, nor what named tuples are made with?"""
        scopes = self._scopes.get(id(code))
        if is_installed_file(code.co_filename):
            return False
        if not scopes:
            return not self.of(code)
        return any(module_with(each) is None and not is_named_tuples(each) for each in scopes)
