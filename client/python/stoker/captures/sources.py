"""Dynamo's Source objects as paths."""

import types

from torch._dynamo import source as dynamo

from .paths import ROOT, Paths, node_argument
from .values import NotPortable, encode

# Sources that only say what kind of object their base is.
_TRANSPARENT = (dynamo.NNModuleSource, dynamo.SkipGuardSource, dynamo.OptimizerSource)


class SourcePaths(Paths):
    """Paths of the sources of one frame. `global_values`: the frame's; `installed`: names in them that Dynamo
    made for modules and other objects."""

    def __init__(self, global_values, installed):
        super().__init__()
        self._installed = installed
        self._global_values = global_values
        self._known = {}

    def of(self, source):
        place = self._known.get(source)
        if place is None:
            place = self._known[source] = self._convert(source)
        return place

    def root_module(self, place):
        """The module in which a path starts, by name; None for locals, globals and builtins."""
        while self.nodes[place][0] != ROOT:
            place = self.nodes[place][0]
        return self.nodes[place][2] if self.nodes[place][1] == "module" else None

    def _convert(self, source):
        convert = _CONVERTERS.get(type(source))
        if convert is not None:
            return convert(self, source)
        if isinstance(source, _TRANSPARENT):
            return self.of(source.base)
        raise NotPortable(f"a guard on {type(source).__name__}")

    def _local(self, source):
        return self.add(ROOT, "local", source.local_name)

    def _global(self, source):
        name = source.global_name
        if name.startswith("__builtins_dict__"):
            return self.add(ROOT, "builtins")
        if name.startswith("__import_") or name in self._installed:
            module = self._global_values[name]
            if not isinstance(module, types.ModuleType):
                raise NotPortable("a guard on an object that Dynamo keeps by address")
            return self.add(ROOT, "module", module.__name__)
        return self.add(ROOT, "global", name)

    def _attribute(self, source, step="attr"):
        return self.add(self.of(source.base), step, source.member)

    def _named(self, source, name):
        return self.add(self.of(source.base), "attr", name)

    def _item(self, source, step):
        index = source.index
        if isinstance(index, dynamo.Source):
            return self.add(self.of(source.base), step, node_argument(self.of(index)))
        if getattr(source, "index_is_slice", False):
            index = source.unpack_slice()
        return self.add(self.of(source.base), step, encode(index))

    def _default(self, source):
        return self.add(
            self.of(source.base), "keyword" if source.is_kw else "default", source.idx_key)


_CONVERTERS = {
    dynamo.LocalSource: SourcePaths._local,
    dynamo.GlobalSource: SourcePaths._global,
    dynamo.ImportSource: lambda paths, source: paths.add(ROOT, "module", source.module_name),
    **dict.fromkeys(
        (dynamo.AttrSource, dynamo.CellContentsSource, dynamo.GradSource, dynamo.ParamBufferSource,
         dynamo.UnspecializedParamBufferSource), SourcePaths._attribute),
    dynamo.GenericAttrSource: lambda paths, source: paths._attribute(source, "generic"),
    dynamo.CodeSource: lambda paths, source: paths._named(source, "__code__"),
    dynamo.ClosureSource: lambda paths, source: paths._named(source, "__closure__"),
    dynamo.TypeMROSource: lambda paths, source: paths._named(source, "__mro__"),
    dynamo.TypeSource: lambda paths, source: paths.add(paths.of(source.base), "type"),
    dynamo.TypeDictSource: lambda paths, source: paths.add(paths.of(source.base), "typedict"),
    dynamo.GetItemSource: lambda paths, source: paths._item(source, "item"),
    dynamo.DictGetItemSource: lambda paths, source: paths._item(source, "item"),
    dynamo.DictSubclassGetItemSource: lambda paths, source: paths._item(source, "dict"),
    dynamo.ListGetItemSource: lambda paths, source: paths._item(source, "list"),
    dynamo.ConstDictKeySource: lambda paths, source: paths.add(
        paths.of(source.base), "key", source.index),
    dynamo.DefaultsSource: SourcePaths._default,
}
