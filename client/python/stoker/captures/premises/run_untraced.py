"""What a program has PyTorch run in place of tracing it, besides special methods: reach.py knows of these."""

import abc
import enum
import re
import types

import torch

from ...pytorch.marks import COMPILER, is_opaque, runs_untraced
from ...pytorch.state import tree_nodes
from ..bytecode.reads import code_inside, fills_templates, states_class, texts_in_code
from ..words.held import held, module_name_of
from ..words.installed import is_installed, is_programs_class
from ..words.values import NotPortable

CONSTANTS = (enum.Enum, type, int, float, complex, str, bytes, tuple)  # Dynamo computes with objects of these.
_SUBSTITUTING = frozenset(("sub", "subn"))
_CALLING = frozenset((*(("re", name) for name in _SUBSTITUTING), ("torch.fx.node", "map_aggregate"), ("torch.fx.node", "map_arg")))
_AT_COMPILE_TIME = f"{COMPILER}.comptime"
_OF_TENSORS = ("__torch_dispatch__", "__tensor_flatten__", "__tensor_unflatten__")
_ANSWERS = ("__getattr__", "__getattribute__")
_SAY_THEIR_CLASS = ("__class__", "__getattribute__")
_CONTEXTS = "context_fn"  # An argument of torch.utils.checkpoint: called while it is traced.


def is_run_untraced(value):
    """A function, or a class of autograd's functions."""
    return isinstance(value, (types.FunctionType, type)) and runs_untraced(value)


def require_traced(reached):
    """NotPortable where something of the program runs whose reads are not followed. `reached`: a reach.Reached."""
    classes = reached.classes_of_programs
    for cls in classes | {base for cls in classes for base in type(cls).__mro__ if not is_installed(base)}:
        if issubclass(cls, torch.Tensor) and any(held(cls, name) is not held(torch.Tensor, name) for name in _OF_TENSORS):
            raise NotPortable("a class of tensors with operators of its own")
        if issubclass(cls, torch.autograd.Function) and runs_untraced(cls):
            raise NotPortable("a function of autograd that stays in the graph")
        if is_opaque(cls):
            raise NotPortable("a class whose objects graphs hold")
        if reached.run_functions and cls in tree_nodes():
            raise NotPortable("a class that a function is given in parts which stays in the graph")
        if issubclass(cls, CONSTANTS) and any(map(_is_descriptor, vars(cls).values())):
            raise NotPortable("a descriptor of a class with whose objects PyTorch computes")
    _require_no_answers(reached, classes)
    for code in reached.traced:
        if not reached.is_installed(code):
            if states_class(code):
                raise NotPortable("a class that is made on the way")
            if _CONTEXTS in texts_in_code(code):
                raise NotPortable("a context that is made while a checkpoint is traced")
            if fills_templates(code):
                raise NotPortable("a template that reads attributes")
    for value in (*reached.globals_of_programs.values(), *reached.met):
        if _calls_what_it_is_given(value, reached):
            raise NotPortable(f"a function that runs another one while it is traced, {held(value, '__name__') or 'of a pattern'}")


def _calls_what_it_is_given(value, reached):
    """Functions of packages that Dynamo runs on constants and on functions."""
    if value is re or isinstance(value, re.Pattern):
        return any(not _SUBSTITUTING.isdisjoint(each.co_names) for code in reached.traced for each in code_inside(code)
                   if not reached.is_installed(code))
    module, name = module_name_of(value), held(value, "__name__")
    return (module, name) in _CALLING or module == _AT_COMPILE_TIME


def _is_descriptor(value):
    """One of a class of the program."""
    return is_programs_class(type(value)) and held(type(value), "__get__") is not None


def _require_no_answers(reached, classes):
    """Where `isinstance` asks objects for what they hold."""
    asked = {name for cls in classes if held(cls, "_is_protocol") for name in (*(held(cls, "__annotations__") or ()), *vars(cls))}
    answering = {*classes, *(base for cls in classes for base in type(cls).__mro__)}
    if asked and (reached.has_modules_that_answer or any(
            answers(cls, asked) for cls in answering if not held(cls, "_is_protocol") and not is_installed(cls))):
        raise NotPortable("a protocol that asks code of the program")
    if any(isinstance(cls, abc.ABCMeta) for cls in reached.classes) and any(
            name in vars(cls) for cls in classes for name in _SAY_THEIR_CLASS):
        raise NotPortable("an abstract class that asks code of the program")


def answers(cls, names):
    """Does an object run code that the class defines itself when it is asked for one of the names?"""
    return any(
        name in _ANSWERS or name in names and not name.startswith("__") and not isinstance(value, types.FunctionType)
        and held(type(value), "__get__") is not None
        for name, value in vars(cls).items())
