"""What a program has PyTorch and Python run in place of tracing it."""

import abc
import enum
import functools
import re
import types

import torch

from ...pytorch.marks import COMPILER, is_opaque, runs_untraced
from ...pytorch.state import tree_nodes
from ..bytecode.reads import code_inside, fills_templates, states_class, texts_in_code
from ..words.held import held, module_name_of
from ..words.installed import is_installed, is_installed_function, is_programs_class
from ..words.values import NotPortable
from .unseen import cells_of

CONSTANTS = (enum.Enum, type, int, float, complex, str, bytes, tuple)  # Dynamo computes with objects of these.
_SUBSTITUTING = frozenset(("sub", "subn"))
_CALLING = frozenset((*(("re", name) for name in _SUBSTITUTING), ("torch.fx.node", "map_aggregate"), ("torch.fx.node", "map_arg")))
_AT_COMPILE_TIME = f"{COMPILER}.comptime"
_OF_TENSORS = ("__torch_dispatch__", "__tensor_flatten__", "__tensor_unflatten__")
_ANSWERS = ("__getattr__", "__getattribute__")
_SAY_THEIR_CLASS = ("__class__", "__getattribute__")
_OF_NO_PROGRAM = (
    types.GetSetDescriptorType, types.MemberDescriptorType, type, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.BuiltinFunctionType)
_REMEMBERING = type(functools.lru_cache(min))
_CONTEXTS = "context_fn"  # An argument of torch.utils.checkpoint: called while it is traced.


def is_run_untraced(value):
    """A function, or a class of autograd's functions."""
    return isinstance(value, (types.FunctionType, type)) and runs_untraced(value)


def runs_for_members(cls):
    """May an enumeration run code of the program besides its own methods: of the values of its members, or to make ones?"""
    if not cls._member_map_:
        return any(name in vars(cls) for name in ("__init__", "__new__", "_generate_next_value_"))
    return any(is_programs_class(type(member._value_)) for member in cls._member_map_.values())


def wraps(function, seen=()):
    """May a package's function call one of the program's, which it holds, or which one does that it holds?"""
    if any(function is each for each in seen):
        return False
    seen, inner = (*seen, function), held(function, "__wrapped__")
    return inner is not None and not _is_of_packages(inner, seen) or any(
        callable(met.value) and not isinstance(met.value, (type, *_OF_NO_PROGRAM)) and not _is_of_packages(met.value, seen)
        for met in cells_of(function))


def _is_of_packages(function, seen):
    """One that was made of a package's, too, as what remembers its results."""
    if type(function) is _REMEMBERING:
        function = held(function, "__wrapped__")
    return isinstance(function, types.FunctionType) and is_installed_function(function) and not wraps(function, seen)


def is_run(value):
    """Of what is no function in Python: may it run a program's code, or a method of Python's own of an object with a state?"""
    if isinstance(value, types.BuiltinFunctionType):
        return not isinstance(value.__self__, (types.ModuleType, type, types.NoneType))
    return not isinstance(value, _OF_NO_PROGRAM) and (callable(value) or held(type(value), "__get__") is not None)


def is_run_by_python(name):
    """A method that operations on constants run: on members of enumerations, and on classes."""
    return name.startswith("_") and name.endswith("_") and name not in ("__init__", "__new__")


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
        if issubclass(cls, CONSTANTS) and any(_is_descriptor(each) for each in vars(cls).values()):
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
