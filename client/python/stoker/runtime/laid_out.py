"""Tensors as kernels read and write them."""

import operator

import torch

from ..graph.layout import row_major, span_of


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
