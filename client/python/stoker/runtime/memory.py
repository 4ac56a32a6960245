"""Where a plan has the tensors of a call of PyTorch."""

import ctypes
import math

import torch

from ..graph.host_call import NoHostCall, View
from ..graph.layout import DTYPES, row_major
from ..pytorch import devices

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def memories(types, orders, device):
    if len(types) != len(orders):
        raise NoHostCall(f"it says how {len(orders)} tensors lie, and there are {len(types)}")
    return [Memory(type_, order, device) for type_, order in zip(types, orders)]


class Memory:
    """Where a tensor lies: row-major, its dims in the order `order`, or seen as that says, a View."""

    def __init__(self, type_, order, device):
        name, _, dims = type_.removesuffix("]").partition("[")
        self._dtype = _DTYPES[name]
        self._device = device
        sizes = _sizes_in(dims)
        self.rank = len(sizes)
        self._shape = tuple(map(int, sizes)) if all(map(str.isdecimal, sizes)) else None  # None: it has symbols.
        self._view = order if isinstance(order, View) else None
        self.is_fixed = self._shape is not None  # No symbols.
        if self._view is not None:
            self._type, order = type_, None
            self.is_fixed = self.is_fixed and not self._view.varies
            if self.is_fixed:
                self._seen(self._shape, ())
        if order is not None and len(order) != self.rank:
            raise NoHostCall(f"{list(order)} is no order of the dims of {type_}")
        self._places = None if order is None else [order.index(dim) for dim in range(self.rank)]

    def _seen(self, shape, sizes):
        """The View, of numbers."""
        view = self._view.at(sizes) if self._view.varies else self._view
        if not view.fits(math.prod(shape)):
            raise NoHostCall(f"{view} is no part of {self._type}")
        return view

    def tensor(self, address, sizes, first):
        """`sizes`: where `first` is the size of the first dim."""
        shape = self._shape
        if shape is None:
            shape = tuple(sizes[first:first + self.rank])
        if 0 in shape:
            tensor = torch.empty(shape, dtype=self._dtype, device=self._device)
        elif self._device.type == "cpu":
            memory = (ctypes.c_char * (math.prod(shape) * self._dtype.itemsize)).from_address(address)
            tensor = torch.frombuffer(memory, dtype=self._dtype).view(shape)
        else:
            tensor = devices.memory_at(address, self._device, self._dtype, shape, row_major(shape).strides)
        if self._view is not None:
            return tensor.as_strided(*self._seen(shape, sizes))
        return tensor if self._places is None else tensor.permute(self._places)


def _sizes_in(text):
    """Of a type: "4,min(8,s0)" says two."""
    sizes, depth = [], 0
    for part in text.split(",") if text else ():
        if depth:
            sizes[-1] += f",{part}"
        else:
            sizes.append(part)
        depth += part.count("(") - part.count(")")
    return sizes
