"""Runs the operators of PyTorch that a plan calls, on the memory of the plan."""

import ctypes
import functools
import math
import threading
from contextlib import contextmanager

import torch

from ..graph.host_call import HostCall, NoHostCall
from ..graph.layout import DTYPES
from ..graph.program import filled
from ..libstoker.library import FAILED_PRECONDITION, HostFunction, StokerError
from ..pytorch.operators import OpOverload, overload_of

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
# Whose operators keep nothing of what they are given. Others get copies: the plan uses the memory again.
_OWN_NAMESPACES = frozenset(("aten", "prims"))


class HostCalls:
    """Of one executable. `described`: "host_calls" of its description. StokerError where one names no operator."""

    def __init__(self, described):
        calls = [_Call(each) for each in described]
        self._run = run = _RunOfThread()
        # Holds no reference to this object, so that both go at once.
        self.function = HostFunction(functools.partial(_run, calls, run))

    @contextmanager
    def during_run(self, leave):
        """Around one run of the executable: leave() is called once, before an operator runs or at the end. An operator may
        call anything, this executable too, or wait for another thread that does; by then the run has whatever it needs
        of what is bound."""
        self._run.leave = leave
        try:
            yield
        finally:
            self._run.has_come_to_operators()

    def take_error(self):
        """What an operator raised in this thread's last run; None: nothing."""
        error, self._run.error = self._run.error, None
        return error


class _RunOfThread(threading.local):
    leave = None
    error = None

    def has_come_to_operators(self):
        leave, self.leave = self.leave, None
        if leave is not None:
            leave()


def _run(calls, run, _context, number, operands, results, sizes):
    try:
        run.has_come_to_operators()
        calls[number](operands, results, sizes)
        return 0
    except BaseException as error:  # For whoever runs the executable: nothing may pass through C.
        run.error = error
        return 1


class _Call:
    def __init__(self, described):
        try:
            call = HostCall.parse(described["target"])
            self._operator = overload_of(call.operator)
            if not isinstance(self._operator, OpOverload):
                raise NoHostCall(f"'{call.operator}' is no operator of this PyTorch")
            self._operands = _memories(described["operands"], call.orders)
            self._results = _memories(described["results"], [order for _, order in call.results])
        except NoHostCall as error:
            raise StokerError(FAILED_PRECONDITION, f"A host call cannot run: {error}.") from None
        self._places = [place for place, _ in call.results]
        self._arguments, self._keywords = call.arguments, call.keywords
        self._copies = self._operator.namespace not in _OWN_NAMESPACES

    def __call__(self, operands, results, sizes):
        first = 0  # Of the sizes.
        given = []
        for place, memory in enumerate(self._operands):
            tensor = memory.tensor(operands[place], sizes, first)
            given.append(tensor.clone() if self._copies else tensor)
            first += memory.rank
        found = self._operator(*filled(given, self._arguments), **filled(given, self._keywords))
        for number, (place, memory) in enumerate(zip(self._places, self._results)):
            tensor = memory.tensor(results[number], sizes, first)
            result = found if place is None else found[place]
            if not isinstance(result, torch.Tensor) or result.dtype != tensor.dtype or (
                    result.shape != tensor.shape or result.layout != torch.strided or result.device.type != "cpu"):
                # A kernel would read beside it.
                raise StokerError(
                    FAILED_PRECONDITION, f"{self._operator} gave {_words(result)}, not {_words(tensor)} as when it was "
                    "traced.")
            tensor.copy_(result)
            first += memory.rank


def _words(value):
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"a {value.layout} tensor {value.dtype} {list(value.shape)}"


def _memories(types, orders):
    if len(types) != len(orders):
        raise NoHostCall(f"it says how {len(orders)} tensors lie, and there are {len(types)}")
    return [_Memory(type_, order) for type_, order in zip(types, orders)]


class _Memory:
    """Where a tensor lies: row-major, its dims in the order `order`."""

    def __init__(self, type_, order):
        name, _, dims = type_.removesuffix("]").partition("[")
        self._dtype = _DTYPES[name]
        sizes = dims.split(",") if dims else []
        self.rank = len(sizes)
        if order is not None and len(order) != self.rank:
            raise NoHostCall(f"{list(order)} is no order of the dims of {type_}")
        self._places = None if order is None else [order.index(dim) for dim in range(self.rank)]
        self._shape = tuple(map(int, sizes)) if all(map(str.isdecimal, sizes)) else None  # None: it has symbols.
        self._array = self._shape and self._array_of(self._shape)

    def _array_of(self, shape):
        return ctypes.c_char * (math.prod(shape) * self._dtype.itemsize)

    def tensor(self, address, sizes, first):
        """`sizes`: where `first` is the size of the first dim."""
        shape = self._shape
        if shape is None:
            shape = sizes[first:first + self.rank]
        if 0 in shape:
            tensor = torch.empty(shape, dtype=self._dtype, device="cpu")
        else:
            memory = (self._array or self._array_of(shape)).from_address(address)
            tensor = torch.frombuffer(memory, dtype=self._dtype).view(shape)
        return tensor if self._places is None else tensor.permute(self._places)
