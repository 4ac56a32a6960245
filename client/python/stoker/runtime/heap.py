"""The C library's memory, in which PyTorch makes tensors on the CPU.

It maps what is as large as `LARGE` anew for each tensor and gives it back with it, so that each call of a model would have the
kernel find and clear every page of 4 KiB that it writes: large tensors get pages of 2 MiB. Smaller ones lie on its heap, whose
holes it keeps.
"""

import ctypes
import mmap

LARGE = 32 << 20  # Bytes; up to which M_MMAP_THRESHOLD grows by itself (mallopt(3)).
_PAGE = 2 << 20

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone.


def advise_large_pages(tensor):
    """For the memory of a new tensor on the CPU. Only advice: without them it is slower, not wrong."""
    begin = -(-tensor.data_ptr() // _PAGE) * _PAGE
    whole = (tensor.data_ptr() + tensor.untyped_storage().nbytes() - begin) // _PAGE * _PAGE
    _madvise(begin, whole, mmap.MADV_HUGEPAGE)


def give_back_free_memory():
    """To the system: some ten milliseconds for a gigabyte. What is used again comes back page by page."""
    if _trim is not None:
        _trim(0)
