"""Dynamo's Source objects: how a guard reaches its object, one step at a time."""

from typing import Any, NamedTuple

from torch._dynamo import source as dynamo

from ..base.not_portable import NotPortable
from .unknown import require_defaults


class Step(NamedTuple):
    """What a source adds to the source it starts from."""

    base: Any  # A Source; None at a root.
    kind: str  # local, global, import; same; or a step of captures/paths.py.
    argument: Any = None  # A constant, or for an item a Source.


def is_source(value):
    return isinstance(value, dynamo.Source)


def is_left_out(source):
    """Does Dynamo make no guard of what is reached this way?"""
    while source is not None and not isinstance(source, dynamo.SkipGuardSource):
        source = getattr(source, "base", None)
    return source is not None


def all_of(source):
    """The sources that give the same object: it, and those that it only says more of."""
    found = [source]
    while type(found[-1]) in _SAYING_MORE:
        found.append(found[-1].base)
    return found


def step_of(source):
    """NotPortable for a kind that is not known."""
    known = _STEPS.get(type(source))
    if known is None:
        raise NotPortable(f"a guard on {type(source).__name__}")
    fields, convert = known
    require_defaults(source, fields, f"a guard on {type(source).__name__}")
    return convert(source)


def _item(kind):
    def convert(source):
        index = source.index
        if not is_source(index) and getattr(source, "index_is_slice", False):
            index = source.unpack_slice()
        return Step(source.base, kind, index)
    return convert


def _attribute(kind):
    return lambda source: Step(source.base, kind, source.member)


def _named(name):
    return lambda source: Step(source.base, "attr", name)


def _default(source):
    return Step(source.base, "keyword" if source.is_kw else "default", source.idx_key)


_BASE = {"base"}
_MEMBER = {"base", "member", "freevar_name"}
_INDEX = {"base", "index", "index_is_slice"}
_SAYING_MORE = (  # What kind of object their base is.
    dynamo.NNModuleSource, dynamo.UnspecializedNNModuleSource, dynamo.UnspecializedBuiltinNNModuleSource,
    dynamo.FSDPNNModuleSource, dynamo.SkipGuardSource, dynamo.OptimizerSource)
_LOCAL = {"local_name", "is_input", "dynamism", "is_derefed_cell_contents", "is_varargs", "is_varkw"}

# Class -> (fields that we know, how it is read). Exact classes: a subclass may mean something else.
_STEPS = {
    dynamo.LocalSource: (_LOCAL, lambda source: Step(None, "local", source.local_name)),
    dynamo.GlobalSource: ({"global_name"}, lambda source: Step(None, "global", source.global_name)),
    dynamo.ImportSource: ({"module_name"}, lambda source: Step(None, "import", source.module_name)),
    **dict.fromkeys(
        (dynamo.AttrSource, dynamo.CellContentsSource, dynamo.GradSource, dynamo.ParamBufferSource,
         dynamo.UnspecializedParamBufferSource), (_MEMBER, _attribute("attr"))),
    dynamo.GenericAttrSource: (_MEMBER, _attribute("generic")),
    dynamo.CodeSource: (_BASE, _named("__code__")),
    dynamo.ClosureSource: (_BASE, _named("__closure__")),
    dynamo.TypeMROSource: (_BASE, _named("__mro__")),
    dynamo.TypeSource: (_BASE, lambda source: Step(source.base, "type")),
    dynamo.TypeDictSource: (_BASE, lambda source: Step(source.base, "typedict")),
    dynamo.NumpyTensorSource: (_BASE, lambda source: Step(source.base, "tensor")),
    dynamo.GetItemSource: (_INDEX, _item("item")),
    dynamo.DictGetItemSource: (_INDEX, _item("item")),
    dynamo.DictSubclassGetItemSource: (_INDEX, _item("dict")),
    dynamo.ListGetItemSource: (_INDEX, _item("list")),
    dynamo.ConstDictKeySource: (_INDEX, lambda source: Step(source.base, "key", source.index)),
    dynamo.DefaultsSource: (
        {"base", "idx_key", "is_kw", "field", "_name"}, _default),
    **dict.fromkeys(_SAYING_MORE, (_BASE, lambda source: Step(source.base, "same"))),
}
