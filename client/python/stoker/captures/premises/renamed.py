"""Functions that go by another name than their own: code is judged by the names that stand in it."""

import dataclasses
import inspect
import operator
import types
import typing

from ..words.paths import is_librarys
from ..words.values import NotPortable

# What reads attributes and variables that code does not name, and so is told by its own name.
_READERS = {id(function): function.__name__ for function in (
    getattr, hasattr, setattr, delattr, vars, dir, locals, globals, eval, exec, object.__getattribute__, operator.attrgetter,
    inspect.getattr_static, inspect.getmembers, inspect.getmembers_static, inspect.get_annotations, typing.get_type_hints,
    type, types.new_class, dataclasses.make_dataclass)}
_OF_OBJECTS = {"type": "__class__"}  # An attribute that holds one.
_OF_TEXTS = ("format", "format_map")  # Methods that read what a template names.


def own_names(reached, nodes, values):
    """Those of functions without code, of PyTorch's say, that code comes to under whatever name. NotPortable where a program
    has a reader under another one. `reached`: a reach.Reached; `nodes`, `values`: of what guards reach."""
    for (_, names), value in reached.globals_of_programs.items():
        _require(names[-1], value)
    for place, value in enumerate(values):
        _, step, name = nodes[place]
        # Whoever asks for an object's class says so.
        if id(value) in _READERS and step != "type" and not is_librarys(nodes, place) or isinstance(value, types.BuiltinMethodType):
            _require(name, value)
    return {
        value.__name__ for value in reached.values
        if isinstance(value, types.BuiltinFunctionType) and type(value.__name__) is str}


def _require(name, value):
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, str) and value.__name__ in _OF_TEXTS:
        raise NotPortable("a template that reads attributes")
    own = _READERS.get(id(value))
    if own is not None and name not in (own, _OF_OBJECTS.get(own)):
        raise NotPortable(f"{own}, which goes by another name")
