"""Where calls on GPUs have memory from that they work in: PyTorch's own allocator, so that both share what is free, and a CUDA
graph has its own from where PyTorch records it to."""

import functools

from ..libstoker import library
from ..libstoker.library import AllocateFunction, FreeFunction
from ..pytorch import devices


def _allocate(_context, ordinal, size, stream):
    try:
        return devices.take_memory(ordinal, size, stream or 0)
    except Exception:  # Nothing may pass through C: the call fails, and its graph runs in eager.
        return None


def _free(_context, _ordinal, address, _stream):
    devices.give_memory_back(address)


@functools.cache
def share():
    """From now on, in this process. Gives what must stay alive for that."""
    functions = AllocateFunction(_allocate), FreeFunction(_free)
    library.check(library.load().stoker_set_device_allocator(*functions, None))
    return functions
