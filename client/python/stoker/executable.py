"""Executable: one compiled segment, called with tensors."""

import ctypes
import json
import operator
import time

import torch

from . import library, tally
from .binding import Stamp
from .client import report
from .gate import Gate
from .layout import row_major
from .profiling import collectors
from .program import check_indices


class Executable:
    """Calls are safe from any thread. `verifies`: libstoker compares the first one with the interpreter. `on_bind` is told how many seconds a binding took, and where packed
    weights came from: "parameters" or "file"."""

    _threads_in_use = None  # What libstoker was told last: a setting of the process.

    def __init__(self, handle, segment, on_bind, verifies=False):
        self._on_bind = on_bind
        self._verifies = verifies
        self._library = library.load()
        self._handle = handle
        self._segment = segment
        inputs = segment.inputs
        self._parameter_slots = [source.slot for source in inputs if source.parameter]
        self._take_parameters = _taker(self._parameter_slots)
        self._parameters_layout = [source.layout for source in inputs if source.parameter]
        self._activations = [
            (place, source.slot, source.layout) for place, source in enumerate(inputs)
            if not source.parameter]
        self._pointers = ctypes.c_void_p * len(inputs)
        self._no_pointers = bytes(ctypes.sizeof(self._pointers))
        self._outputs = [
            (output.dtype, output.layout, *_buffer_of(output.layout))
            for output in segment.outputs]
        self._checks = segment.checks
        self._limits = ctypes.c_int64 * segment.limits
        self._output_pointers = ctypes.c_void_p * (len(segment.outputs) + segment.limits)
        self._gate = Gate()
        self._stamp = None

    def __del__(self):
        self._library.stoker_executable_free(self._handle)

    def describe(self):
        return json.loads(
            library.take_text(self._library.stoker_executable_describe, self._handle))

    def __call__(self, slots):
        """The output tensors, given the tensor of each slot. IndexOutOfBounds when an index is, and then what was
        computed from it is nobody's."""
        self._use_threads()  # A binding computes too.
        if self._parameter_slots:
            parameters = self._take_parameters(slots)
            if self._stamp is None or not self._stamp.fits(parameters):
                self._bind(parameters)
        pointers = self._pointers.from_buffer_copy(self._no_pointers)
        kept = []
        for place, slot, layout in self._activations:
            tensor = _as_laid_out(slots[slot], layout)
            pointers[place] = tensor.data_ptr()
            kept.append(tensor)
        buffers = [
            torch.empty_strided(shape, strides, dtype=dtype)
            for dtype, _, shape, strides in self._outputs]
        results = self._output_pointers(*[buffer.data_ptr() for buffer in buffers])
        if self._checks:
            limits = self._limits()
            first = ctypes.addressof(limits)
            for place in range(len(limits)):
                results[len(buffers) + place] = first + 8 * place
        if collectors:
            self._profile(pointers, results)
        else:
            self._run(pointers, results)
        if self._checks:
            check_indices(self._checks, limits)
        return [
            buffer if layout.order is not None else _with_strides(buffer, layout)
            for buffer, (_, layout, _, _) in zip(buffers, self._outputs)]

    def _run(self, pointers, results):
        gate = self._gate
        gate.enter()
        try:
            status = self._library.stoker_executable_run(
                self._handle, pointers, len(pointers), None, 0, results, len(results))
        finally:
            gate.leave()
        if self._verifies:
            self._count_verification()
        if status:
            library.check(status)

    def _count_verification(self):
        outcome = self.describe()["verification"]
        if outcome == "pending":
            return  # The call failed for another reason.
        self._verifies = False
        tally.count(f"artifacts_{outcome}")
        report({f"artifacts_{outcome}": 1})

    def _profile(self, pointers, results):
        with self._gate.alone():
            launches = json.loads(library.take_text(
                self._library.stoker_executable_profile, self._handle, pointers, len(pointers),
                None, 0, results, len(results)))
        for collector in collectors:
            collector.extend(launches)

    def _use_threads(self):
        threads = torch.get_num_threads()
        if threads != Executable._threads_in_use:
            self._library.stoker_set_num_threads(threads)
            Executable._threads_in_use = threads

    def _bind(self, parameters):
        started = time.perf_counter()
        with self._gate.alone():
            if self._stamp is not None and self._stamp.fits(parameters):
                return  # Another thread was first.
            self._stamp = None
            stamp = Stamp(parameters)
            laid_out = list(map(_as_laid_out, parameters, self._parameters_layout))
            count = len(laid_out)
            data = (ctypes.c_void_p * count)(*map(torch.Tensor.data_ptr, laid_out))
            versions = (ctypes.c_int64 * count)(*stamp.numbers)
            library.check(self._library.stoker_executable_bind(
                self._handle, data, versions, count))
            self._bound = laid_out
            self._stamp = stamp
        tally.count("bindings")
        self._on_bind(time.perf_counter() - started, self.describe()["prepared_from"])


def _taker(places):
    """A function from a sequence to the tuple of its elements at `places`."""
    if len(places) == 1:
        return lambda slots: (slots[places[0]],)
    return operator.itemgetter(*places) if places else lambda slots: ()


def _as_laid_out(tensor, layout):
    """The tensor, or a copy of it whose elements lie as the layout says."""
    if tensor.stride() == layout.strides:
        return tensor
    if layout.order == tuple(range(len(layout.order))):
        return tensor.contiguous()
    return torch.empty_strided(layout.shape, layout.strides, dtype=tensor.dtype).copy_(tensor)


def _buffer_of(layout):
    """(shape, strides) of the memory that a kernel writes for an output."""
    if layout.order is not None:
        return layout.shape, layout.strides
    plain = row_major(layout.shape)
    return plain.shape, plain.strides


def _with_strides(buffer, layout):
    if layout.overlaps:
        return buffer
    return torch.empty_strided(layout.shape, layout.strides, dtype=buffer.dtype).copy_(buffer)
