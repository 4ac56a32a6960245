"""Loaded modules by the code that runs in them."""

import sys

from ..words.held import held
from ..words.installed import are_packages, is_installed_file, is_named_tuples, module_with


_known = {}, {}  # Modules by name, when they were last looked through, and what was found.


def _by_file():
    """Path -> the loaded modules of this file. Read alone."""
    global _known
    loaded = dict(sys.modules)
    known, found = _known
    if loaded.keys() != known.keys() or any(known[name] is not module for name, module in loaded.items()):
        found = {}
        for name, module in loaded.items():
            path = held(module, "__file__")
            if isinstance(path, str) and held(module, "__name__") == name:
                found.setdefault(path, []).append(module)
        _known = loaded, found
    return found


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
