"""The guard program of the extension module stoker_guards, set up with what it needs of PyTorch.

One file of CPython's stable ABI, beside libstoker. Where it is missing or cannot be loaded, guards are checked
in Python (premises/checks.py, bound.py), which is also what the extension asks about whatever it cannot decide.
"""

import builtins
import collections
import functools
import gc
import importlib.machinery
import importlib.util
import sys

import torch

from ...libstoker.library import find_library
from ...pytorch.modules import HOOKS
from ...pytorch.tensors import NUMBER_OF_HOOKS, dispatch_keys, keys_number
from ..words.paths import STEPS
from ..words.values import decode

_NAME = "stoker_guards"
_SUFFIX = ".abi3.so"


@functools.cache
def extension():
    """The module, or None."""
    if _SUFFIX not in importlib.machinery.EXTENSION_SUFFIXES:  # Objects lie otherwise: free-threaded builds.
        return None
    library = find_library()
    path = None if library is None else library.parent / f"{_NAME}{_SUFFIX}"
    if path is None or not path.exists():
        return None
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    try:
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_loader(_NAME, loader))
        loader.exec_module(module)
    except ImportError:
        return None
    return module


def program(record, global_values, ask, watch=True):
    """A stoker_guards.Program for the guards of a capture, or None. `ask`: f(number of a guard, value), the
    reference."""
    module = extension()
    if module is None:
        return None
    _learn_tensors()
    return module.Program(
        nodes=record["nodes"], guards=record["guards"], distinct=record["distinct"], decode=decode,
        steps=STEPS, dtypes=_dtypes(), ask=ask, dispatch_keys=dispatch_keys,
        builtins=vars(builtins), modules=sys.modules, global_values=global_values,
        constants=(torch.dtype, torch.device), ordered_dict=collections.OrderedDict,
        tensor=torch.Tensor, parameter=torch.nn.Parameter, module=torch.nn.Module,
        describe_class=describe_class, reads_of=_reads_of, hook_names=HOOKS,
        hook_registrations=_dictionary_of(NUMBER_OF_HOOKS), watch=watch)


@functools.cache
def _dtypes():
    return {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype)}


def _reads_of(value, name, generic):
    from ..bytecode.attribute_reads import reads_of  # Not before a second call: a start does not wait for it.

    return reads_of(value, name, generic)


@functools.cache
def _learn_tensors():
    """Shows the extension where tensors keep their metadata. False: it asks PyTorch about each tensor."""
    with torch.inference_mode(False), torch.enable_grad():
        probe = torch.empty_strided((2, 3), (7, 2), dtype=torch.float64, device="cpu")
        return extension().learn_tensors(probe, keys_number(probe))


def _dictionary_of(cls):
    return gc.get_referents(vars(cls))[0]


def describe_class(cls):
    """What decides about attributes of its instances, as the extension's Watch reads it; None where a
    metaclass may decide otherwise."""
    if type(cls).__getattribute__ is not type.__getattribute__ or (
            vars(type(cls)).get("__mro__") is not None and type(cls) is not type):
        return None
    order = cls.__mro__
    if order[0] is not cls:
        return None
    dictionaries = tuple(map(_dictionary_of, order))
    fallback = next((own["__getattr__"] for own in dictionaries if "__getattr__" in own), None)
    return (
        dictionaries, order, int(cls.__getattribute__ is not object.__getattribute__),
        0 if fallback is None else 1 if fallback is torch.nn.Module.__getattr__ else 2)
