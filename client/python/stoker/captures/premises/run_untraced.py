"""What a program has PyTorch run in place of tracing it, besides special methods: reach.py knows of these."""

import dis
import types

import torch

from ...pytorch.marks import is_opaque, runs_untraced
from ..bytecode.reads import code_inside, texts_in_code
from ..words.held import HEAPTYPE, held, module_name_of
from ..words.installed import is_installed, is_installed_file
from ..words.values import NotPortable

_OF_TENSORS = ("__torch_dispatch__", "__tensor_flatten__", "__tensor_unflatten__")
_ANSWERS = ("__getattr__", "__getattribute__")

_CONTEXTS = "context_fn"  # An argument of torch.utils.checkpoint: called while it is traced.


def is_run_untraced(value):
    """A function, or a class of autograd's functions."""
    return isinstance(value, (types.FunctionType, type)) and runs_untraced(value)


def require_traced(classes, codes, traced):
    """NotPortable where something of the program runs whose reads are not followed. `classes`, `codes`: that are reached;
    `traced`: code that was."""
    classes = [cls for cls in classes if cls.__flags__ & HEAPTYPE and not is_installed(cls)]
    for cls in classes:
        if issubclass(cls, torch.Tensor) and any(held(cls, name) is not held(torch.Tensor, name) for name in _OF_TENSORS):
            raise NotPortable("a class of tensors with operators of its own")
        if issubclass(cls, torch.autograd.Function) and runs_untraced(cls):
            raise NotPortable("a function of autograd that stays in the graph")
        if is_opaque(cls):
            raise NotPortable("a class whose objects graphs hold")
    asked = {name for cls in classes for base in cls.__mro__ if held(base, "_is_protocol") for name in _asked_by(base)}
    if asked and any(_answers(cls, asked) for cls in classes if not held(cls, "_is_protocol")):
        raise NotPortable("a protocol that asks code of the program")
    for code in traced:
        if not is_installed_file(code.co_filename):
            if any(instruction.opname == "LOAD_BUILD_CLASS" for each in code_inside(code)
                   for instruction in dis.get_instructions(each)):
                raise NotPortable("a class that is made on the way")
            if _CONTEXTS in texts_in_code(code):
                raise NotPortable("a context that is made while a checkpoint is traced")


def _asked_by(protocol):
    return (*(held(protocol, "__annotations__") or ()), *vars(protocol))


def _answers(cls, names):
    for base in cls.__mro__:
        if base.__flags__ & HEAPTYPE and not is_installed(base):
            for name, value in vars(base).items():
                if name in _ANSWERS or name in names and not name.startswith("__") and not isinstance(
                        value, types.FunctionType) and held(type(value), "__get__") is not None:
                    return True
    return False
