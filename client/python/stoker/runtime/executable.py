"""Executable: one compiled segment, bound to its parameters. SizedExecutable: the same for one set of sizes, called with
tensors."""

import ctypes
import functools
import math
import time

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.program import check_indices
from ..libstoker import library
from ..pytorch import devices
from ..pytorch.tensors import empty_on_cpu
from . import release
from .binding import Stamp
from .gate import Gate
from .laid_out import Inputs, as_laid_out, buffer_of, taker, with_strides
from .heap import LARGE, large_result
from .loaded import Loaded
from .profiling import collectors


class Executable(Loaded):
    """On the CPU. Calls are safe from any thread. `on_bind` is told how many seconds a binding took, and where packed
    weights came from: "parameters" or "file"."""

    _threads_in_use = None  # What libstoker was told last: a setting of the process.

    def __init__(self, handle, segment, on_bind, verifies=False):
        super().__init__(handle, devices.CPU, verifies)
        self._on_bind = on_bind
        self.take_parameters = taker([source.slot for source in segment.inputs if source.parameter])
        self._parameters_layout = [source.layout for source in segment.inputs if source.parameter]
        self._gate = Gate()
        self._stamp = None
        self._binding = None  # A release.Binding: what is bound, while there is a stamp.
        self._repairs = 0

    def at(self, segment, symbols, _lets_go=()):
        """What is called. `segment`: the executable's own, with the sizes that follow from these values of its symbols."""
        return SizedExecutable(self, segment, symbols)

    def run(self, parameters, arguments):
        """`arguments`: what stoker_executable_run takes after the executable."""
        call = self.profile if collectors else self.run_once
        if not parameters and self.host is None:  # There is no binding, for which others would wait.
            call(arguments)
            return

        def run(leave):
            if self.host is None:
                call(arguments)
                return
            kept = self._binding and self._binding.laid_out  # noqa: F841. Whatever is bound while PyTorch runs.
            with self.host.during_run(leave):
                call(arguments)

        self._gate.run_inside(self._has_bound, self._bind, parameters, run)
        if parameters and self.library.stoker_executable_repairs(self.handle) != self._repairs:
            self._note_repairs(parameters)

    def _has_bound(self, parameters):
        return not parameters or (self._stamp is not None and self._stamp.fits(parameters))

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
            self.library.stoker_set_num_threads(threads)
            Executable._threads_in_use = threads

    def release(self, binding):
        """Lets go of the weights of a binding, packed or not, if it is still the one."""
        def unbind():
            if self._binding is binding:
                self._stamp = None
                self.library.stoker_executable_unbind(self.handle)
                binding.forget()

        self._gate.run_alone(unbind)

    def _bind(self, parameters):
        """Alone in the gate."""
        if self._has_bound(parameters):
            return  # Another thread may have been first.
        started = time.perf_counter()
        self._stamp = None
        stamp = Stamp(parameters)
        laid_out = list(map(as_laid_out, stamp.memory, self._parameters_layout))
        count = len(laid_out)
        data = (ctypes.c_void_p * count)(*map(torch.Tensor.data_ptr, laid_out))
        versions = (ctypes.c_int64 * count)(*stamp.numbers)
        library.check(self.library.stoker_executable_bind(self.handle, data, versions, count, None))
        self._binding = release.Binding(self, laid_out, stamp.contents)
        self._stamp = stamp
        tally.count("bindings")
        self._on_bind(time.perf_counter() - started, self.describe()["prepared_from"])


class SizedExecutable:
    def __init__(self, executable, segment, symbols):
        self._executable = executable
        self._take_parameters = executable.take_parameters
        inputs = segment.inputs
        self._inputs = Inputs(segment)
        self._pointers = ctypes.c_void_p * len(inputs)
        self._no_pointers = bytes(ctypes.sizeof(self._pointers))
        self._symbols = (ctypes.c_int64 * len(symbols))(*symbols) if symbols else None
        self._outputs = [
            (_maker_of(output), output.layout, updated) for output, updated in zip(segment.outputs, self._inputs.updated)]
        self._made = [place for place, (*_, number) in enumerate(self._outputs) if number is None]
        self._restrided = any(layout.order is None for _, layout, _ in self._outputs)
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
        kept = self._inputs.take(slots, pointers)
        buffers = [make() if updated is None else kept[updated] for make, _, updated in self._outputs]
        results = self._output_pointers()
        for place in self._made:
            results[place] = buffers[place].data_ptr()
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
        if not self._restrided:
            return buffers
        return [
            buffer if layout.order is not None else with_strides(buffer, layout)
            for buffer, (_, layout, _) in zip(buffers, self._outputs)]

    def _note_changes(self, buffers):
        """Nobody copies into the inputs that were updated, when a call raises."""
        changed = [
            buffer for buffer, (*_, updated) in zip(buffers, self._outputs)
            if updated is not None and not buffer.is_inference()]
        if changed:
            torch.autograd.graph.increment_version(changed)


def _maker_of(output):
    """Of the memory that a kernel writes for it."""
    shape, strides = buffer_of(output.layout)
    if math.prod(shape) * output.dtype.itemsize >= LARGE:
        return functools.partial(large_result, shape, strides, output.dtype)
    return functools.partial(empty_on_cpu, shape, strides, output.dtype)
