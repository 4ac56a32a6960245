"""CudaExecutable: one compiled segment on a GPU. SizedOnCuda: the same for one set of sizes, called with tensors.

Nothing waits for the GPU, and nothing is bound: what a module holds is an input like others, whose address is noted, so that
calls in which it has not moved look at nothing else of it."""

import ctypes

import torch

from ..pytorch import devices
from ..pytorch.native.addresses import Addresses
from . import gpu_memory
from .laid_out import as_laid_out, buffer_of, require_memory, taker, with_strides
from .loaded import Loaded
from .profiling import collectors

_pointer = torch.Tensor.data_ptr


class CudaExecutable(Loaded):
    """Calls are safe from any thread."""

    def __init__(self, handle, device, verifies=False):
        gpu_memory.share()
        super().__init__(handle, device, verifies)

    def at(self, segment, symbols):
        """What is called. `segment`: the executable's own, with the sizes that follow from these values of its symbols."""
        return SizedOnCuda(self, segment, symbols)

    def run(self, arguments):
        """`arguments`: what stoker_executable_run takes after the executable."""
        (self.profile if collectors else self.run_once)(arguments)


class SizedOnCuda:
    def __init__(self, executable, segment, symbols):
        self._executable = executable
        self._device = executable.device
        inputs = list(enumerate(segment.inputs))
        self._held = [(place, source.layout) for place, source in inputs if source.parameter]
        self._take_held = taker([source.slot for _, source in inputs if source.parameter])
        self._others = [
            (place, source.slot, source.layout, source.layout.span) for place, source in inputs if not source.parameter]
        self._pointers = ctypes.c_void_p * len(inputs)
        # (addresses of what is held, the pointers with those of them that kernels read as they lie, the rest of them), or
        # None
        self._noted = None
        self._symbols = (ctypes.c_int64 * len(symbols))(*symbols) if symbols else None
        self._outputs = [
            (output.dtype, output.layout, *buffer_of(output.layout)) for output in segment.outputs]
        self._checks = bool(segment.checks)
        self._output_pointers = ctypes.c_void_p * (len(segment.outputs) + self._checks)

    def __call__(self, slots):
        """The output tensors, given the tensor of each slot. What was computed from an index out of bounds is nobody's, and
        the GPU says so later, as PyTorch's own kernels do."""
        device = self._device
        held = list(self._take_held(slots))
        noted = self._noted
        if noted is None or not noted[0].are_of(held):
            noted = self._note(held)
        _, pointers, rest = noted
        pointers = self._pointers.from_buffer_copy(pointers)
        kept = []
        for place, slot, layout, span in self._others:
            tensor = self._on_device(slots[slot], layout)
            require_memory(tensor, span)
            pointers[place] = _pointer(tensor)
            kept.append(tensor)
        for number in rest:
            place, layout = self._held[number]
            tensor = self._on_device(held[number], layout)
            pointers[place] = _pointer(tensor)
            kept.append(tensor)
        buffers = [
            torch.empty_strided(shape, strides, dtype=dtype, device=device) for dtype, _, shape, strides in self._outputs]
        results = self._output_pointers(*map(_pointer, buffers))
        if self._checks:
            within = self._place_of_checks()
            results[len(buffers)] = _pointer(within)
        symbols = self._symbols
        self._executable.run((
            pointers, len(pointers), symbols, 0 if symbols is None else len(symbols), results, len(results),
            devices.stream_of(device)))
        return [
            buffer if layout.order is not None else with_strides(buffer, layout)
            for buffer, (_, layout, _, _) in zip(buffers, self._outputs)]

    def _place_of_checks(self):
        """Where a kernel writes whether indices are within bounds. Nobody reads that: it fails where they are not."""
        return torch.empty((), dtype=torch.bool, device=self._device)

    def _note(self, held):
        pointers = self._pointers()
        rest = []
        for number, (tensor, (place, layout)) in enumerate(zip(held, self._held)):
            require_memory(tensor)
            if self._on_device(tensor, layout) is tensor:
                pointers[place] = _pointer(tensor)
            else:
                rest.append(number)
        self._noted = noted = Addresses(held, range(len(held))), bytes(pointers), rest
        return noted

    def _on_device(self, tensor, layout):
        if tensor.device != self._device:  # A scalar of the CPU, which a kernel fills in.
            return torch.empty((), dtype=tensor.dtype, device=self._device).fill_(tensor)
        return as_laid_out(tensor, layout)
