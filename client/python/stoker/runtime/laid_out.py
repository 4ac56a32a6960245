"""Tensors as kernels read and write them."""

import operator

import torch

from ..graph.layout import row_major, span_of
from ..pytorch.native.pointers import Pointers


def taker(places):
    """A function from a sequence to the tuple of its elements at `places`."""
    if len(places) == 1:
        return lambda slots: (slots[places[0]],)
    return operator.itemgetter(*places) if places else lambda slots: ()


def as_laid_out(tensor, layout):
    """The tensor, or a copy of it whose elements lie as the layout says, and are what they stand for."""
    if tensor.is_neg():  # The imaginary part of a conjugate: its memory holds what is to be negated.
        tensor = tensor.resolve_neg()
    if tensor.stride() == layout.strides:
        return tensor
    require_memory(tensor)
    if layout.order == tuple(range(len(layout.order))):
        return tensor.contiguous()
    return torch.empty_strided(layout.shape, layout.strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def require_memory(tensor, span=None):
    """RuntimeError where its storage holds less than it has elements, as PyTorch's kernels say it, or nothing. `span`: its
    span_of(), where that is known."""
    span = span_of(tensor.shape, tensor.stride()) if span is None else span
    needed, held = (tensor.storage_offset() + span) * tensor.element_size(), tensor.untyped_storage().nbytes()
    if span and (held < needed or not tensor.data_ptr()):
        raise RuntimeError(
            f"sizes {list(tensor.shape)}, strides {list(tensor.stride())}, storage offset {tensor.storage_offset()}, and itemsize "
            f"{tensor.element_size()} requiring a storage size of {needed} are out of bounds for storage of size {held}")


class Inputs:
    """Those of a segment that every call brings, by number."""

    def __init__(self, segment, laid_out=as_laid_out):
        """laid_out(tensor, layout) gives a tensor as a kernel reads it."""
        written = {output.updates for output in segment.outputs}
        brought = [(place, source) for place, source in enumerate(segment.inputs) if not source.parameter]
        self.slots = [source.slot for _, source in brought]
        self.places = [place for place, _ in brought]  # Among all inputs.
        numbers = {place: number for number, place in enumerate(self.places)}
        # For each output the number of the one in whose memory it is made; None: in memory of its own.
        self.updated = [numbers.get(output.updates) for output in segment.outputs]
        self._take = taker(self.slots)
        self._sources = [(place, source.layout, source.layout.span, place in written) for place, source in brought]
        self._pointers = Pointers([(place, span, written) for place, _, span, written in self._sources])
        self._laid_out = laid_out

    def take(self, slots, pointers):
        """The tensors, as kernels read them, with their addresses in `pointers`, by place. One that is written lies in memory of
        its own where it was made in inference mode, and this is none: who copies into it from there is refused by it, and goes no
        further."""
        taken = list(self._take(slots))
        unknown = self._pointers.put(taken, pointers)
        refused = False
        for number in unknown:
            place, layout, span, written = self._sources[number]
            tensor = self._laid_out(taken[number], layout)
            require_memory(tensor, span)
            pointers[place] = tensor.data_ptr()
            if written and tensor.is_inference():
                refused = refused or not torch.is_inference_mode_enabled()
            elif tensor is taken[number]:
                self._pointers.know(number, tensor)
            taken[number] = tensor
        if refused:
            self._copy_written(taken, pointers)
        return taken

    def _copy_written(self, taken, pointers):
        """None of them may be written before one is refused."""
        for number, (place, _, _, written) in enumerate(self._sources):
            if written:
                taken[number] = taken[number].clone()
                pointers[place] = taken[number].data_ptr()


def buffer_of(layout):
    """(shape, strides) of the memory that a kernel writes for an output."""
    if layout.order is not None:
        return layout.shape, layout.strides
    plain = row_major(layout.shape)
    return plain.shape, plain.strides


def with_strides(buffer, layout):
    if layout.overlaps:
        return buffer
    return torch.empty_strided(layout.shape, layout.strides, dtype=buffer.dtype, device=buffer.device).copy_(buffer)
