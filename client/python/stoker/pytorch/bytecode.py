"""What the bytecode that Dynamo makes calls: of torch._dynamo.utils, for processes in which Dynamo is not loaded, and
functions that go on from where a graph breaks.
"""

import functools
import itertools
import types
from typing import Any, NamedTuple

_MAKER = "OutputGraph.install_resume_function_global.<locals>._make_fn"


class Resume(NamedTuple):
    """A function that goes on."""

    code: Any
    global_values: dict
    is_made: bool  # By a function of a tuple of cells: it has free variables.


def resume_of(value):
    """A Resume of what Dynamo put among the globals, or None."""
    if not isinstance(value, types.FunctionType) or value.__defaults__ or value.__kwdefaults__:
        return None
    if not value.__closure__:
        return Resume(value.__code__, value.__globals__, False)
    held = dict(zip(value.__code__.co_freevars, (cell.cell_contents for cell in value.__closure__)))
    if value.__qualname__ != _MAKER or held.keys() != {"code", "f_globals", "name"}:
        return None
    return Resume(held["code"], held["f_globals"], True)


def maker_of(code, global_values):
    """What such a function is made by: no function in Python, for Dynamo would trace it."""
    return functools.partial(types.FunctionType, code, global_values, code.co_name, None)


class WithoutDynamo:
    """Stands for the module. What it does not have needs Dynamo."""

    dict_getitem = dict.__getitem__
    list_getitem = list.__getitem__

    @staticmethod
    def dict_keys_getitem(dictionary, place):
        return next(itertools.islice(dict.keys(dictionary), place, None))

    @staticmethod
    def record_pregraph_bytecode_enter():
        """For PyTorch's profiler."""
        return None

    @staticmethod
    def record_pregraph_bytecode_exit(context):
        return None

    @staticmethod
    def object_setattr_ignore_descriptor(owner, name, value):
        object.__getattribute__(owner, "__dict__")[name] = value
