"""Where kernels read and write tensors: asked of all of them at once, in every call."""

import ctypes

import torch

from ...libstoker.extension import extension
from .tensor_layout import learn_tensors


class Pointers:
    """Of tensors in lists, number by number. One that is as another one of its number was, which was looked at, needs no look."""

    def __init__(self, wanted):
        """`wanted`: (place of its address, span of its elements, is it written?) of each."""
        self._wanted = wanted
        self._all = tuple(range(len(wanted)))
        self._known = None

    def put(self, tensors, into):
        """Writes addresses to `into`, an array of ctypes. The numbers of those that need a look: whose sizes, strides, dtype,
        device and kind nobody has seen before, whose storage holds less than they span, or is shared until it is written."""
        if self._known is not None:
            return extension().put(self._known, tensors, ctypes.addressof(into))
        wanted = self._wanted
        if wanted:  # Now, and not while graphs are made with fake tensors. Another thread may be at it, too.
            if extension() is not None and learn_tensors():
                self._known = extension().pointers_of(wanted, torch.Tensor)
            self._wanted = None
        return self._all

    def know(self, number, tensor):
        """`tensor` was looked at: it is read where it lies."""
        if self._known is not None:
            extension().know(self._known, number, tensor, tensor.element_size())
