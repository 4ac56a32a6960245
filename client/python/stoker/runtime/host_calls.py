"""Runs the operators of PyTorch that a plan calls, on the memory of the plan."""

import functools
import threading
from contextlib import contextmanager

import torch

from ..graph import dims
from ..graph.host_call import HostCall, NoHostCall
from ..graph.layout import span_of
from ..graph.program import filled
from ..libstoker.library import FAILED_PRECONDITION, HostFunction, StokerError
from ..pytorch.devices import placed
from ..pytorch.operators import OpOverload, overload_of
from .convolutions.fused import FUSED
from .memory import memories
from .results import writer_of

# For how many addresses of its tensors a call is kept ready, and of how many sizes: a plan's memory, and what it is given,
# seldom lie elsewhere, and sizes come again.
MAX_READY, MAX_READY_OF_SIZES = 16, 64
# Whose operators keep nothing of what they are given. Others get copies: the plan uses the memory again.
_OWN_NAMESPACES = frozenset(("aten", "prims", "stoker"))

_FAILURE = "The host framework failed in host call "  # libstoker's words.


class HostCalls:
    """Of one executable. `described`: "host_calls" of its description. `kept`: a KeptCalls of the executable's. StokerError where
    one names no operator."""

    def __init__(self, described, device, kept):
        calls = [_Call(number, each, device, kept) for number, each in enumerate(described)]
        self._count = len(calls)
        self._kept = kept
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

    def begin(self):
        """Before a run in this thread."""
        self._run.done = 0
        self._run.kept = self._kept.begin()

    def error_of(self, failure):
        """What kept this thread's run from its end; None: nothing. `failure`: what libstoker says of it, or None."""
        error, self._run.error = self._run.error, None
        if error is not None:
            return error
        is_lost = self._has_missed() if failure is None else _FAILURE in str(failure)
        return KeyboardInterrupt("between kernels, where nothing could take it") if is_lost else failure

    def _has_missed(self):
        done = self._run.done
        return done < self._count and done + self._kept.done_since(self._run.kept) < self._count


class _RunOfThread(threading.local):
    leave = None
    error = None
    done = 0
    kept = None  # Of KeptCalls.begin().

    def has_come_to_operators(self):
        leave, self.leave = self.leave, None
        if leave is not None:
            leave()


def _run(calls, run, _context, number, operands, results, sizes):
    # A signal that comes while kernels run is handled before the first line. What its handler raises there nobody can catch: ctypes
    # drops it, and gives libstoker any number for a status.
    try:
        run.has_come_to_operators()
        done = run.done  # An operator may run the executable.
        calls[number](operands, results, sizes)
        run.done = done + 1
        return 0
    except BaseException as error:  # For whoever runs the executable: nothing may pass through C.
        run.error = error
        return 1


class _Call:
    def __init__(self, number, described, device, kept):
        self._number, self._kept = number, kept
        try:
            call = HostCall.parse(described["target"])
            self._operator = overload_of(call.operator)
            if not isinstance(self._operator, OpOverload):
                raise NoHostCall(f"'{call.operator}' is no operator of this PyTorch")
            self._operands = memories(described["operands"], call.orders, device)
            self._results = memories(described["results"], [order for _, order in call.results], device)
        except NoHostCall as error:
            raise StokerError(FAILED_PRECONDITION, f"A host call cannot run: {error}.") from None
        self._places = [place for place, _ in call.results]
        self._arguments, self._keywords = placed(call.arguments, device), placed(call.keywords, device)
        self._varies = call.varies
        self._copies = self._operator.namespace not in _OWN_NAMESPACES
        self._is_fixed = not self._varies and all(memory.is_fixed for memory in (*self._operands, *self._results))
        self._counts = len(self._operands), len(self._results)
        self._rank = 0 if self._is_fixed else sum(memory.rank for memory in (*self._operands, *self._results))
        self._ready = {}  # Addresses, and sizes where they vary -> what runs the call there.
        self._may_be_kept = self._operator is FUSED
        if self._may_be_kept:
            kept.expect()

    def __call__(self, operands, results, sizes):
        given, wanted = self._counts
        addresses, counted = (*operands[:given], *results[:wanted]), tuple(sizes[:self._rank])
        run = self._ready.get((addresses, counted)) or self._prepared(addresses, counted)
        run()
        if self._may_be_kept:
            give = run.to_record() if hasattr(run, "to_record") else None
            if give is not None:
                self._kept.record(self._number, addresses, counted, give)

    def _prepared(self, addresses, sizes):
        """A function that runs the call with its tensors at these addresses, of these sizes."""
        with torch.inference_mode(False):  # What was made in it cannot be written to outside.
            tensors = self._tensors(addresses, sizes)
        given = tensors[:self._counts[0]]
        results = list(zip(self._places, tensors[self._counts[0]:]))
        run = None
        if not self._copies:
            arguments, keywords = self._filled(given, sizes)
            run = writer_of(self._operator, arguments, keywords, results)
            run = run or functools.partial(self._run_and_copy, arguments, keywords, results)
        else:
            run = functools.partial(self._run_with_copies, given, results, sizes)
        if len(self._ready) >= (MAX_READY if self._is_fixed else MAX_READY_OF_SIZES):
            self._ready.clear()
        self._ready[addresses, sizes] = run
        return run

    def _tensors(self, addresses, sizes):
        first, tensors = 0, []  # `first` of the sizes.
        for address, memory in zip(addresses, (*self._operands, *self._results)):
            try:
                tensors.append(memory.tensor(address, sizes, first))
            except NoHostCall as error:
                raise StokerError(FAILED_PRECONDITION, f"A host call cannot run: {error}.") from None
            first += memory.rank
        return tensors

    def _filled(self, given, sizes):
        arguments, keywords = self._arguments, self._keywords
        if self._varies:
            arguments = dims.at(arguments, sizes)
            keywords = {name: dims.at(value, sizes) for name, value in keywords.items()}
        return filled(given, arguments), filled(given, keywords)

    def _run_with_copies(self, given, results, sizes):
        self._run_and_copy(*self._filled([_copy_of(tensor) for tensor in given], sizes), results)

    def _run_and_copy(self, arguments, keywords, results):
        found = self._operator(*arguments, **keywords)
        for place, tensor in results:
            result = found if place is None else found[place]
            if not isinstance(result, torch.Tensor) or result.dtype != tensor.dtype or (
                    result.shape != tensor.shape or result.layout != torch.strided or not _may_lie(result, tensor.device)):
                # A kernel would read beside it.
                raise StokerError(
                    FAILED_PRECONDITION, f"{self._operator} gave {_words(result)}, not {_words(tensor)} as when it was "
                    "traced.")
            tensor.copy_(result)


def _copy_of(tensor):
    """One that lies as it does, gaps and elements that are one included."""
    shape, strides = tensor.shape, tensor.stride()
    return tensor.as_strided((span_of(shape, strides),), (1,)).clone().as_strided(shape, strides)


def _may_lie(result, device):
    """Some operators of PyTorch for GPUs leave a number that they give on the CPU."""
    return result.device == device or (result.dim() == 0 and result.device.type == "cpu")


def _words(value):
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"a {value.layout} tensor {value.dtype} {list(value.shape)} on {value.device.type}"
