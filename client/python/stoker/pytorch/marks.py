"""What PyTorch's compiler leaves on modules, functions and classes of programs."""

import enum

import torch

# The module: part of PyTorch, and so of the version in a key. Nothing guards it, and stoker.compile never loads it.
COMPILER = "torch._dynamo"
# Files of it below the package torch: what it wraps functions in, PyTorch's own among them, computes nothing.
COMPILERS_FILES = ("_compile.py:", "_dynamo/")

_WRAPPERS = "torch._dynamo.external_utils"

# Of a function, what decorators leave and nobody's result depends on: beginnings of names.
LEFT_ON_FUNCTIONS = ("_torchdynamo", "_torchdispatch", "__wrapped__")
LEFT_ON_MODULES = ("_is_torch_compile",)  # By torch.compile(); stoker.compile() does not.
# What it replaces in classes when it is imported, or when its first compiled function is entered.
REPLACED = {
    torch.nn.Module: ("__init__", "__setstate__", "___has_generation_tag_patch", "___needs_generation_tag_patch"),
    torch.distributions.Distribution: ("_validate_args",)}


def counts_as_constant(function):
    """Has the program said that its result does?"""
    return getattr(function, "_dynamo_marked_constant", False)


def runs_untraced(value):
    """Has the program said that a function, or a class of autograd's functions, stays a call in graphs, or that Dynamo may run
    it on constants in place of tracing what stands for it?"""
    from torch._dynamo.trace_rules import is_callable_allowed, is_polyfilled_callable

    return is_callable_allowed(value) or is_polyfilled_callable(value)


def is_opaque(cls):
    """Has the program registered it as one whose objects graphs hold, and whose methods run on them?"""
    from torch._library import opaque_object

    # An older PyTorch's name; a newer one's has a warning.
    ask = getattr(opaque_object, "is_custom_class", None) or opaque_object.is_opaque_type
    return ask(cls) and not issubclass(cls, enum.Enum)  # PyTorch registers these.


def innermost(function):
    """Below what the compiler wrapped it in."""
    while hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    return function


def wrapped_by(module_name, local_values):
    """What a frame of the compiler's own, in its module of this name, does nothing but call: a module of PyTorch's, a
    function that Dynamo would not look into. None for any other frame."""
    return local_values.get("fn") if module_name == _WRAPPERS else None


def boxed(function):
    """Marks a function of one list, which it empties, for AOTAutograd."""
    function._boxed_call = True
    return function
