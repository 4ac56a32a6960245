"""How a tensor's elements lie in memory, as far as row-major kernels care.

A dense layout is a permutation of a row-major one: a channels-last image, a transposed matrix. Stoker
reads and writes such tensors in place, by their physical shape, and transposes inside the graph.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch

from .dims import same

DTYPES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool",
}
# What graphs have the same bits of in another type, for rules that ask no more.
WORDS = {torch.uint64: "i64"}


@dataclass(frozen=True)
class SizedTensor:
    """What lowering asks of a traced tensor, with Dims for sizes that vary."""

    dtype: Any
    device: Any
    layout: Any  # torch.layout
    shape: tuple
    strides: tuple
    offset: Any = None  # Of its first element in what it is a view of; None: nobody knows.

    def stride(self):
        return self.strides

    def storage_offset(self):
        return self.offset

    def numel(self):
        return prod(self.shape)


def is_tensor(value):
    """Traced or real?"""
    return isinstance(value, (torch.Tensor, SizedTensor))


class Layout(NamedTuple):
    shape: tuple
    strides: tuple
    order: tuple  # Dims from the slowest to the fastest; None where elements overlap, have gaps, or are of unknown number.

    @property
    def physical_shape(self):
        return tuple(self.shape[dim] for dim in self.order)

    @property
    def places(self):
        """For each dim its place in `order`."""
        places = [0] * len(self.order)
        for place, dim in enumerate(self.order):
            places[dim] = place
        return places

    @property
    def span(self):
        """See span_of()."""
        return span_of(self.shape, self.strides)

    @property
    def overlaps(self):
        return any(stride == 0 and size > 1 for size, stride in zip(self.shape, self.strides))


def row_major(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return Layout(tuple(shape), tuple(reversed(strides)), tuple(range(len(shape))))


def layout_of(tensor):
    """The layout of a tensor, real or traced."""
    shape, strides = tuple(tensor.shape), tensor.stride()
    if None in shape:
        return Layout(shape, strides, None)
    plain = row_major(shape)
    if same(strides, plain.strides):
        return Layout(shape, strides, plain.order)
    # Dims of size 1 lie anywhere, and nothing lies somewhere.
    if 0 in shape or all(
            size == 1 or a == b for size, a, b in zip(shape, strides, plain.strides)):
        return Layout(shape, strides, plain.order)
    order = sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim))
    step = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if strides[dim] != step:
                return Layout(shape, strides, None)
            step *= shape[dim]
    return Layout(shape, strides, tuple(order))


def is_row_major(tensor):
    return layout_of(tensor).order == tuple(range(len(tensor.shape)))


def span_of(shape, strides):
    """In elements, from the first to the end of the last."""
    return 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def bytes_of(tensor):
    """The same of a tensor, in bytes."""
    return span_of(tensor.shape, tensor.stride()) * tensor.element_size()
