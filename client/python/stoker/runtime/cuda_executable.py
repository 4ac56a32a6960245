"""CudaExecutable: one compiled segment on a GPU. SizedOnCuda: the same for one set of sizes, called with tensors.

Nothing waits for the GPU, and nothing is bound: what a module holds is an input like others, whose address is noted, so that
calls in which it has not moved look at nothing else of it."""

import ctypes
import math
import sys

import torch

from ..libstoker.library import INTERNAL, StokerError
from ..pytorch import devices
from ..pytorch.native.addresses import Addresses
from . import gpu_memory
from .laid_out import Inputs, as_laid_out, buffer_of, require_memory, taker, with_strides
from .loaded import Loaded, cannot_start_over
from .profiling import collectors
from .replays.lent_memory import Ahead

_pointer = torch.Tensor.data_ptr


class CudaExecutable(Loaded):
    """Calls are safe from any thread."""

    def __init__(self, handle, device, verifies=False):
        gpu_memory.share()
        super().__init__(handle, device, verifies)

    def at(self, segment, symbols, lets_go=()):
        """What is called. `segment`: the executable's own, with the sizes that follow from these values of its symbols;
        `lets_go`: the slots that a call may empty."""
        return SizedOnCuda(self, segment, symbols, lets_go)

    def run(self, arguments, turns=()):
        """`arguments`, `turns`: see run_once()."""
        if collectors and not turns:
            self.profile(arguments)
        else:
            self.run_once(arguments, turns)

    @property
    def takes_turns(self):
        """May memory come and go while it runs? Not where inputs are looked at when it has ended, and not between the branches of
        a CUDA graph."""
        return not (self.verifies or collectors or devices.is_capturing())


class SizedOnCuda:
    def __init__(self, executable, segment, symbols, lets_go=()):
        self._executable = executable
        self._device = executable.device
        inputs = list(enumerate(segment.inputs))
        self._held = [(place, source.layout) for place, source in inputs if source.parameter]
        self._take_held = taker([source.slot for _, source in inputs if source.parameter])
        self._inputs = Inputs(segment, self._on_device)
        self._pointers = ctypes.c_void_p * len(inputs)
        # (addresses of what is held, the pointers with those of them that kernels read as they lie, the rest of them), or
        # None
        self._noted = None
        self._symbols = (ctypes.c_int64 * len(symbols))(*symbols) if symbols else None
        self._outputs = [
            (output.dtype, output.layout, *buffer_of(output.layout), updated)
            for output, updated in zip(segment.outputs, self._inputs.updated)]
        self._made = [number for number, (*_, updated) in enumerate(self._outputs) if updated is None]
        self._restrided = any(layout.order is None for _, layout, *_ in self._outputs)
        self._checks = bool(segment.checks)
        self._output_pointers = ctypes.c_void_p * (len(segment.outputs) + self._checks)
        self._lets_go = lets_go
        # None: not known yet. What is updated is there from the start to the end.
        self._turns = None if lets_go and len(self._made) == len(self._outputs) else []

    def __call__(self, slots):
        """The output tensors, given the tensor of each slot. One that updates an input is that input, or, where this lies
        otherwise than the segment reads it, a copy that was updated. What was computed from an index out of bounds is nobody's,
        and the GPU says so later, as PyTorch's own kernels do."""
        held = list(self._take_held(slots))
        noted = self._noted
        if noted is None or not noted[0].are_of(held):
            noted = self._note(held)
        _, pointers, rest = noted
        pointers = self._pointers.from_buffer_copy(pointers)
        kept = self._inputs.take(slots, pointers)
        for number in rest:
            place, layout = self._held[number]
            tensor = self._on_device(held[number], layout)
            pointers[place] = _pointer(tensor)
            kept.append(tensor)
        tensor = None  # Who may let go of it does not wait for this frame.
        turns = self._turns
        if turns is None:
            turns = self._turns = self._find_turns(kept)
        within = self._place_of_checks() if self._checks else None  # There until all is given to the GPU.
        if turns and self._executable.takes_turns:
            buffers = self._run_in_turns(turns, pointers, kept, slots, within)
        else:
            ahead = Ahead.of(self)
            buffers = [
                kept[output[-1]] if output[-1] is not None else ahead[number] if number in ahead else self._buffer_of(output)
                for number, output in enumerate(self._outputs)]
            self._run(self._arguments(pointers, self._results_in(buffers, within)))
        if not self._restrided:
            return buffers
        return [
            buffer if layout.order is not None else with_strides(buffer, layout)
            for buffer, (_, layout, *_) in zip(buffers, self._outputs)]

    def _run(self, arguments):
        try:
            self._executable.run(arguments)
        except StokerError as error:
            if error.code == INTERNAL and len(self._made) < len(self._outputs):
                raise cannot_start_over(error) from error  # Inputs may have been updated.
            raise

    def _buffer_of(self, output):
        dtype, _, shape, strides, _ = output
        return torch.empty_strided(shape, strides, dtype=dtype, device=self._device)

    @property
    def steps(self):
        return self._executable.steps

    @property
    def updated(self):
        """Slots whose tensors it writes to."""
        return [self._inputs.slots[number] for number in self._inputs.updated if number is not None]

    def make_ahead(self, numbers, lender=None):
        """{number: what it is to be written to} of these outputs, for a recording, but those that update an input. `lender`: of
        memory that it may overwrite."""
        executable, lent = self._executable, {}
        numbers = [number for number in numbers if self._outputs[number][-1] is None]
        if lender is not None and self._lets_go and not executable.verifies:
            last, first = executable.last_of_inputs, executable.first_of_outputs
            read = [(slot, last[place]) for place, slot in zip(self._inputs.places, self._inputs.slots) if slot in self._lets_go]
            lent = lender.place(read, {
                number: (dtype, shape, strides, first[number])
                for number, (dtype, _, shape, strides, _) in enumerate(self._outputs) if number in numbers})
        return {number: lent[number] if number in lent else self._buffer_of(self._outputs[number]) for number in numbers}

    def _results_in(self, buffers, within):
        """Their addresses, and that of what is said of indices."""
        results = self._output_pointers()
        for number in self._made:
            results[number] = _pointer(buffers[number])
        if within is not None:
            results[len(buffers)] = _pointer(within)
        return results

    def _arguments(self, pointers, results):
        symbols = self._symbols
        return (
            pointers, len(pointers), symbols, 0 if symbols is None else len(symbols), results, len(results),
            devices.stream_of(self._device))

    def _find_turns(self, given):
        """`given`: what those inputs are that a caller may let go of, first."""
        executable = self._executable
        last, first = executable.last_of_inputs, executable.first_of_outputs
        inputs = [
            (tensor.nbytes, last[place] if slot in self._lets_go else sys.maxsize)
            for tensor, place, slot in zip(given, self._inputs.places, self._inputs.slots)]
        outputs = [
            (dtype.itemsize * math.prod(shape), step) for (dtype, _, shape, *_), step in zip(self._outputs, first)]
        return gpu_memory.turns_of(inputs, outputs)

    def _run_in_turns(self, turns, pointers, given, slots, within):
        """The buffers of all outputs. `given`: see _find_turns()."""
        late = {number for turn in turns for number in turn.outputs}
        buffers = [None if number in late else self._buffer_of(output) for number, output in enumerate(self._outputs)]
        nothing = torch.empty(0, device=self._device)  # At no address.
        results = self._results_in([nothing if buffer is None else buffer for buffer in buffers], within)

        def take(turn):
            for number in turn.inputs:
                given[number] = slots[self._inputs.slots[number]] = None
            for number in turn.outputs:
                buffers[number] = buffer = self._buffer_of(self._outputs[number])
                results[number] = _pointer(buffer)

        with gpu_memory.TurnsOfCall(turns, take) as taken:
            self._executable.run(self._arguments(pointers, results), taken)
        return buffers

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
