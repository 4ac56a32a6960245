"""Where tensors are: kinds of devices for keys and captures, one of a kind for what runs."""

import torch

from . import facts
from .names import GPUS

CPU = torch.device("cpu")


def may_run_on_gpus():
    """Has this PyTorch what that needs?"""
    return facts.has(GPUS, "graphs on GPUs run in eager")


def name_of(device):
    """As libstoker names it: "cpu", "cuda:1"."""
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    return str(device)


def gpu_in_use():
    """The name of the GPU that is current where PyTorch has begun to use GPUs in this process; else None."""
    return name_of(torch.device("cuda")) if torch.cuda.is_initialized() else None


def kind_of(device):
    """The same device of whatever number."""
    return torch.device(device.type)


def placed(argument, device):
    """An operator's argument, with `device` in place of the devices of its kind."""
    if isinstance(argument, torch.device):
        return device if argument.type == device.type else argument
    if isinstance(argument, (list, tuple)):
        items = [placed(item, device) for item in argument]
        return argument._make(items) if hasattr(argument, "_make") else type(argument)(items)
    if isinstance(argument, dict):
        return {name: placed(item, device) for name, item in argument.items()}
    return argument


def stream_of(device):
    """The address of PyTorch's current stream there."""
    return torch._C._cuda_getCurrentRawStream(device.index)


def is_capturing():
    """Does the current stream record a CUDA graph?"""
    return torch._C._cuda_isCurrentStreamCapturing()


def memory_at(address, device, dtype, shape, strides):
    """A tensor over memory of a GPU that somebody else owns."""
    size = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    storage = torch._C._construct_storage_from_data_pointer(address, device, size * dtype.itemsize)
    return torch.empty(0, dtype=dtype, device=device).set_(storage, 0, shape, strides)


def take_memory(index, size, stream):
    """The address of memory of a GPU's that is the caller's, in the order of the stream."""
    if torch._C._cuda_getDevice() != index:
        return torch.cuda.caching_allocator_alloc(size, index, stream)
    return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, stream)


def give_memory_back(address):
    torch._C._cuda_cudaCachingAllocator_raw_delete(address)
