"""The guard program of the extension module stoker_guards, set up with what it needs of PyTorch.

Where the extension is missing, guards are checked in Python (premises/checks.py, bound.py), which is also what it asks about
whatever it cannot decide.
"""

import builtins
import collections
import functools
import gc
import sys

import torch

from ...pytorch.modules import HOOKS
from ...pytorch.native.tensor_layout import extension, learn_tensors
from ...pytorch.tensors import NUMBER_OF_HOOKS, dispatch_keys
from ..words.paths import STEPS
from ..words.values import decode

def program(record, global_values, ask, watch=True):
    """A stoker_guards.Program for the guards of a capture, or None. `ask`: f(number of a guard, value), the
    reference."""
    module = extension()
    if module is None:
        return None
    learn_tensors()
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
    dictionaries = tuple(_dictionary_of(each) for each in order)
    fallback = next((own["__getattr__"] for own in dictionaries if "__getattr__" in own), None)
    return (
        dictionaries, order, int(cls.__getattribute__ is not object.__getattribute__),
        0 if fallback is None else 1 if fallback is torch.nn.Module.__getattr__ else 2)
