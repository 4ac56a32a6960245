"""Objects as long as somebody else holds them. Unlike weakref's own containers it runs no code when one goes: Python drops
what a signal handler raises there."""

import weakref

_FEW = 64


class Living:
    """{key: object}. Reading and adding are safe from any thread."""

    def __init__(self):
        self._references = {}
        self._limit = _FEW

    def add(self, value, key=None):
        """In the place of another one under that key, if it has one."""
        reference = weakref.ref(value)
        self._references[id(reference) if key is None else key] = reference
        if len(self._references) > self._limit:
            self._sweep()

    def get(self, key):
        """None where there is none."""
        reference = self._references.get(key)
        return None if reference is None else reference()

    def __iter__(self):
        return iter([value for reference in list(self._references.values()) if (value := reference()) is not None])

    def _sweep(self):
        for key, reference in list(self._references.items()):
            if reference() is None and self._references.get(key) is reference:
                self._references.pop(key, None)
        self._limit = 2 * len(self._references) + _FEW
