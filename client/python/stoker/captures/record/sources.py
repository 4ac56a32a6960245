"""Dynamo's sources as paths."""

import types

from ...pytorch.sources import is_source, step_of
from ..words.paths import ROOT, Paths, node_argument, root_of
from ..words.values import NotPortable, encode

_ITEMS = ("item", "dict", "list")


class SourcePaths(Paths):
    """Paths of the sources of one frame. `global_values`: the frame's; `installed`: names in them that Dynamo
    made for modules and other objects."""

    def __init__(self, global_values, installed):
        super().__init__()
        self._installed = installed
        self._global_values = global_values
        self._known = {}
        self._scopes = {}  # id of a dictionary -> place of a function whose globals it is.

    def of(self, source):
        place = self._known.get(source)
        if place is None:
            place = self._known[source] = self._convert(step_of(source))
        return place

    def add_scope(self, function, place):
        """Of a function whose globals are no module's: Dynamo gives these a name of their own."""
        self._scopes[id(function.__globals__)] = place

    def root_module(self, place):
        """The module in which a path starts, by name; None for locals, globals and builtins."""
        _, step, name = root_of(self.nodes, place)
        return name if step == "module" else None

    def _convert(self, step):
        if step.base is None:
            return self._root(step.kind, step.argument)
        base = self.of(step.base)
        if step.kind == "same":
            return base
        argument = step.argument
        if is_source(argument):
            argument = node_argument(self.of(argument))
        elif step.kind in _ITEMS:
            argument = encode(argument)
        return self.add(base, step.kind, argument)

    def _root(self, kind, name):
        if kind == "local":
            return self.add(ROOT, "local", name)
        if kind == "import":
            return self.add(ROOT, "module", name)
        if name.startswith("__builtins_dict__"):
            return self.add(ROOT, "builtins")
        found = self._kept(name) if self._is_dynamos(name) else None
        if id(found) in self._scopes:
            return self.add(self._scopes[id(found)], "attr", "__globals__")
        module = self.module_under(name)
        return self.add(ROOT, "global", name) if module is None else self.add(ROOT, "module", module)

    def module_under(self, name):
        """The name of the module that Dynamo keeps under a global of its own; None of another global."""
        if not self._is_dynamos(name):
            return None
        found = self._kept(name)
        if not isinstance(found, types.ModuleType):
            raise NotPortable("a guard on an object that Dynamo keeps by address")
        return found.__name__

    def _kept(self, name):
        if name not in self._global_values:  # It goes with what it was kept for.
            raise NotPortable("a guard on what Dynamo keeps no longer")
        return self._global_values[name]

    def _is_dynamos(self, name):
        return name.startswith("__import_") or name in self._installed
