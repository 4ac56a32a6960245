"""The C library's memory, in which PyTorch makes tensors on the CPU.

It maps what is as large as `LARGE` anew for each tensor and gives it back with it, so that each call of a model would have the
kernel find and clear every page that it writes. Large results get pages of 2 MiB, and lie where an earlier one of their size
lay, once nobody holds that any more: its memory is kept for a moment, as a caching allocator does. Smaller ones lie on the
C library's heap, whose holes it keeps.
"""

import ctypes
import functools
import math
import mmap
import os
import sys
import types
import weakref

import torch

from ..base.background import Repeated
from ..base.signals import suppressed
from ..pytorch.tensors import uses_of

LARGE = 32 << 20  # Bytes; up to which M_MMAP_THRESHOLD grows by itself (mallopt(3)).
KEPT = 512 << 20  # Bytes, of results that are in use or were lately, of a machine with enough memory:
_SHARE = 32  # This part of it at most.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # Of a container.
_PAGE = 2 << 20
_LOOKS = 10  # Seconds for which no call takes it, until it is given back.

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone.
_kept = {}  # Memory by its id, what was used last at the end.
os.register_at_fork(after_in_child=_kept.clear)  # It would be copied there, page by page, as the parent goes on.


def _references(memory):
    """To the Python object of its storage, counted as this version of Python does."""
    return sys.getrefcount(memory.storage)


_ALONE = _references(types.SimpleNamespace(storage=object()))


class _Memory:
    """Of a result, which others may hold by tensors, or by the storage itself."""

    def __init__(self, tensor):
        self.storage = tensor.untyped_storage()
        self.nbytes = self.storage.nbytes()
        self.looks = 0
        self._address = tensor.data_ptr()

    def is_free(self):
        """Does nobody else hold it, and is it still what it was: not resized, nor shared with other processes?"""
        if _references(self) > _ALONE:
            return False
        storage = self.storage
        return (
            uses_of(storage) == 1 and not weakref.getweakrefcount(storage) and not vars(storage)
            and storage.resizable() and storage.nbytes() == self.nbytes  # numpy() ends that it can be resized.
            and not storage.is_shared() and storage.data_ptr() == self._address)

    def tensor(self, shape, strides, dtype):
        return torch.empty(0, dtype=dtype, device="cpu").set_(self.storage, 0, shape, strides)


def large_result(shape, strides, dtype):
    """A new tensor without gaps."""
    memory = _free_memory(math.prod(shape) * dtype.itemsize)
    if memory is None:
        tensor = torch.empty_strided(shape, strides, dtype=dtype, device="cpu")
        _advise_large_pages(tensor)
        memory = _Memory(tensor)
    else:
        tensor = memory.tensor(shape, strides, dtype)
        memory.looks = 0
    _kept[id(memory)] = memory
    _keep_no_more_than(min(KEPT, _memory_bytes() // _SHARE))
    _watch.start()
    return tensor


def give_back_unused():
    """What no call took for a while: it stays with whoever holds it, or goes back to the system."""
    for key, memory in list(_kept.items()):
        memory.looks += 1
        if memory.looks > _LOOKS:
            _kept.pop(key, None)


def _free_memory(nbytes):
    """Of so many bytes, found by no other thread from now on. None if there is none."""
    for key, memory in list(_kept.items()):
        if memory.nbytes == nbytes and memory.is_free() and _kept.pop(key, None) is not None:
            if memory.is_free():  # Still: another thread may have taken it in between, and put it there again.
                return memory
            _kept[key] = memory
    return None


def _keep_no_more_than(limit):
    """What was used least lately is not used again."""
    too_much = sum([memory.nbytes for memory in list(_kept.values())]) - limit
    for key, memory in list(_kept.items()):
        if too_much <= 0:
            break
        _kept.pop(key, None)
        too_much -= memory.nbytes


@functools.cache
def _memory_bytes():
    """Of the machine, or what its container may use."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _LIMITS:
        with suppressed(OSError), open(path) as file:
            text = file.read().strip()
            if text.isdecimal():
                sizes.append(int(text))
    return min(sizes)


_watch = Repeated("stoker-results", "the memory of large results is not given back", give_back_unused, lambda: _kept)


def _advise_large_pages(tensor):
    """For the memory of a new tensor on the CPU. Only advice: without them it is slower, not wrong."""
    begin = -(-tensor.data_ptr() // _PAGE) * _PAGE
    whole = (tensor.data_ptr() + tensor.untyped_storage().nbytes() - begin) // _PAGE * _PAGE
    _madvise(begin, whole, mmap.MADV_HUGEPAGE)


def give_back_free_memory():
    """To the system: some ten milliseconds for a gigabyte. What is used again comes back page by page."""
    if _trim is not None:
        _trim(0)
