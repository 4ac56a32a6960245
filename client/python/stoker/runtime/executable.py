"""Executable: one compiled segment, bound to its parameters. SizedExecutable: the same for one set of sizes, called with
tensors."""

import ctypes
import json
import operator
import time

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.layout import row_major
from ..graph.program import check_indices
from ..libstoker import library
from ..libstoker.client import report
from . import release
from .binding import Stamp
from .gate import Gate
from .host_calls import HostCalls
from .profiling import collectors


class _Handle:
    """libstoker's handle, freed when its executable cannot be reached any more. A `__del__` of the executable itself
    would be too early: while that runs, weak references still give the executable to other threads."""

    def __init__(self, handle):
        self._as_parameter_ = handle  # What ctypes passes.
        self._free = library.load().stoker_executable_free

    def __del__(self):
        self._free(self)


class Executable:
    """Calls are safe from any thread. `verifies`: libstoker compares the first one with the interpreter. `on_bind` is
    told how many seconds a binding took, and where packed weights came from: "parameters" or "file"."""

    _threads_in_use = None  # What libstoker was told last: a setting of the process.

    def __init__(self, handle, segment, on_bind, verifies=False):
        self._on_bind = on_bind
        self._verifies = verifies
        self._library = library.load()
        self._handle = _Handle(handle)
        self.take_parameters = _taker([source.slot for source in segment.inputs if source.parameter])
        self._parameters_layout = [source.layout for source in segment.inputs if source.parameter]
        self._host = self._host_calls()
        self._gate = Gate()
        self._stamp = None
        self._binding = None  # A release.Binding: what is bound, while there is a stamp.
        self._repairs = 0

    def at(self, segment, symbols):
        """What is called. `segment`: the executable's own, with the sizes that follow from these values of its symbols."""
        return SizedExecutable(self, segment, symbols)

    def describe(self):
        return json.loads(
            library.take_text(self._library.stoker_executable_describe, self._handle))

    def _host_calls(self):
        """None where the plan has none."""
        described = self.describe()["host_calls"]
        if not described:
            return None
        host = HostCalls(described)
        self._library.stoker_executable_set_host(self._handle, host.function, None)
        return host

    @property
    def calls_host(self):
        return self._host is not None

    def run(self, parameters, arguments):
        """`arguments`: what stoker_executable_run takes after the executable."""
        if collectors or not self._run_if_bound(parameters, arguments):
            with self._gate.alone():
                self._bind(parameters)
                (self._profile if collectors else self._run)(arguments)
        if parameters and self._library.stoker_executable_repairs(self._handle) != self._repairs:
            self._note_repairs(parameters)

    def _run_if_bound(self, parameters, arguments):
        """False, and nothing is done, if something else is bound: only whoever is inside the gate knows that it stays."""
        gate = self._gate
        gate.enter()
        try:
            if parameters and (self._stamp is None or not self._stamp.fits(parameters)):
                return False
            self._run(arguments)
            return True
        finally:
            gate.leave()

    def _run(self, arguments):
        status = self._library.stoker_executable_run(self._handle, *arguments)
        if self._verifies:
            self._count_verification()
        if status:
            self._fail(status)

    def _fail(self, status):
        error = self._host.take_error() if self._host is not None else None
        if error is None:
            library.check(status)
        library.free(status)
        raise error  # The job's own.

    def _count_verification(self):
        outcome = self.describe()["verification"]
        if outcome == "pending":
            return  # The call failed for another reason.
        self._verifies = False
        tally.count(f"artifacts_{outcome}")
        report({f"artifacts_{outcome}": 1})

    def _profile(self, arguments):
        text = ctypes.c_void_p()
        status = self._library.stoker_executable_profile(self._handle, *arguments, ctypes.byref(text))
        if status:
            self._fail(status)
        launches = json.loads(library.taken(text))
        for collector in collectors:
            collector.extend(launches)

    def _note_repairs(self, parameters):
        description = self.describe()
        tally.count("repairs", description["repairs"] - self._repairs)
        self._repairs = description["repairs"]
        place = description["repaired_parameter"]
        changed = parameters[place]
        warn_once(
            "repaired", "parameter %d of a graph, %s %s, was changed behind PyTorch's back (through .data, NumPy, or "
            "as an inference tensor); it is packed anew, from this call on.",
            place, str(changed.dtype).removeprefix("torch."), list(changed.shape))

    def use_threads(self):
        threads = torch.get_num_threads()
        if threads != Executable._threads_in_use:
            self._library.stoker_set_num_threads(threads)
            Executable._threads_in_use = threads

    def release(self, binding):
        """Lets go of the weights of a binding, packed or not, if it is still the one."""
        with self._gate.alone():
            if self._binding is binding:
                self._stamp = None
                self._library.stoker_executable_unbind(self._handle)
                binding.forget()

    def _bind(self, parameters):
        """Alone in the gate."""
        if not parameters or (self._stamp is not None and self._stamp.fits(parameters)):
            return  # Another thread may have been first.
        started = time.perf_counter()
        self._stamp = None
        stamp = Stamp(parameters)
        laid_out = list(map(_as_laid_out, stamp.memory, self._parameters_layout))
        count = len(laid_out)
        data = (ctypes.c_void_p * count)(*map(torch.Tensor.data_ptr, laid_out))
        versions = (ctypes.c_int64 * count)(*stamp.numbers)
        library.check(self._library.stoker_executable_bind(self._handle, data, versions, count, None))
        self._binding = release.Binding(self, laid_out, stamp.contents)
        self._stamp = stamp
        tally.count("bindings")
        self._on_bind(time.perf_counter() - started, self.describe()["prepared_from"])


class SizedExecutable:
    def __init__(self, executable, segment, symbols):
        self._executable = executable
        self._take_parameters = executable.take_parameters
        inputs = segment.inputs
        self._activations = [
            (place, source.slot, source.layout) for place, source in enumerate(inputs)
            if not source.parameter]
        self._pointers = ctypes.c_void_p * len(inputs)
        self._no_pointers = bytes(ctypes.sizeof(self._pointers))
        self._symbols = (ctypes.c_int64 * len(symbols))(*symbols) if symbols else None
        # In whose memory an output is made: its place among the activations. None: in memory of its own.
        place_of = {place: number for number, (place, _, _) in enumerate(self._activations)}
        self._outputs = [
            (output.dtype, output.layout, *_buffer_of(output.layout), place_of.get(output.updates))
            for output in segment.outputs]
        self._checks = segment.checks
        self._limits = ctypes.c_int64 * segment.limits
        self._output_pointers = ctypes.c_void_p * (len(segment.outputs) + segment.limits)

    def __call__(self, slots):
        """The output tensors, given the tensor of each slot. One that updates an input is that input, or, where this lies
        otherwise than the segment reads it, a copy that was updated. IndexOutOfBounds when an index is, and then what was
        computed from it is nobody's."""
        executable = self._executable
        executable.use_threads()  # A binding computes too.
        pointers = self._pointers.from_buffer_copy(self._no_pointers)
        kept = []
        for place, slot, layout in self._activations:
            tensor = _as_laid_out(slots[slot], layout)
            pointers[place] = tensor.data_ptr()
            kept.append(tensor)
        buffers = [
            torch.empty_strided(shape, strides, dtype=dtype, device="cpu")  # Whatever the default device is.
            if updated is None else kept[updated] for dtype, _, shape, strides, updated in self._outputs]
        results = self._output_pointers(*[buffer.data_ptr() for buffer in buffers])
        if self._checks:
            limits = self._limits()
            first = ctypes.addressof(limits)
            for place in range(len(limits)):
                results[len(buffers) + place] = first + 8 * place
        symbols = self._symbols
        try:
            executable.run(self._take_parameters(slots), (
                pointers, len(pointers), symbols, 0 if symbols is None else len(symbols), results, len(results),
                None))
        except Exception:
            if self._checks and executable.calls_host:
                check_indices(self._checks, limits)  # An operator failed on what was read out of bounds.
            raise
        if self._checks:
            try:
                check_indices(self._checks, limits)
            except Exception:
                self._note_changes(buffers)
                raise
        return [
            buffer if layout.order is not None else _with_strides(buffer, layout)
            for buffer, (_, layout, _, _, _) in zip(buffers, self._outputs)]

    def _note_changes(self, buffers):
        """Nobody copies into the inputs that were updated, when a call raises."""
        changed = [
            buffer for buffer, (*_, updated) in zip(buffers, self._outputs)
            if updated is not None and not buffer.is_inference()]
        if changed:
            torch.autograd.graph.increment_version(changed)


def _taker(places):
    """A function from a sequence to the tuple of its elements at `places`."""
    if len(places) == 1:
        return lambda slots: (slots[places[0]],)
    return operator.itemgetter(*places) if places else lambda slots: ()


def _as_laid_out(tensor, layout):
    """The tensor, or a copy of it whose elements lie as the layout says, and are what they stand for."""
    if tensor.is_neg():  # The imaginary part of a conjugate: its memory holds what is to be negated.
        tensor = tensor.resolve_neg()
    if tensor.stride() == layout.strides:
        return tensor
    if layout.order == tuple(range(len(layout.order))):
        return tensor.contiguous()
    return torch.empty_strided(layout.shape, layout.strides, dtype=tensor.dtype, device="cpu").copy_(tensor)


def _buffer_of(layout):
    """(shape, strides) of the memory that a kernel writes for an output."""
    if layout.order is not None:
        return layout.shape, layout.strides
    plain = row_major(layout.shape)
    return plain.shape, plain.strides


def _with_strides(buffer, layout):
    if layout.overlaps:
        return buffer
    return torch.empty_strided(layout.shape, layout.strides, dtype=buffer.dtype, device="cpu").copy_(buffer)
