"""Tensors in place of an archive's: their shapes and types, in memory that nobody has written and that costs nothing
as long as nobody does.
"""

import mmap

import torch

from ..pytorch.exported import dtype_of
from .errors import ArchiveError

MAX_BYTES = 1 << 42  # Of one tensor, and of all that are not in the archive's file.
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Python has the name from 3.13 on.
_STRIDED = 7


def tensors(payloads, bytes_of):
    """{name: tensor} for {name: PayloadMeta as JSON}; those that share a payload share memory. `bytes_of` a PayloadMeta:
    (size of its payload, its bytes if they are few)."""
    memory, found = {}, {}
    for name, meta in payloads.items():
        described = meta["tensor_meta"]
        try:
            _require_plain(described)
            if meta["path_name"] not in memory:
                memory[meta["path_name"]] = _flat(described, *bytes_of(meta))
            tensor = torch.as_strided(
                memory[meta["path_name"]], _numbers(described["sizes"]), _numbers(described["strides"]),
                *_numbers([described["storage_offset"]]))
            if meta["is_param"]:
                tensor = torch.nn.Parameter(tensor, requires_grad=described["requires_grad"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ArchiveError(f"'{name}' is no tensor: {str(error).splitlines()[0]}.") from None
        found[name] = tensor
    return found


def empty(dtype, shape, strides):
    """One of its own; all zero."""
    elements = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if 0 not in shape else 0
    return torch.as_strided(_zeros(elements * dtype.itemsize, dtype), shape, strides)


def _require_plain(described):
    if described["device"]["type"] != "cpu":
        raise ArchiveError(f"A weight lies on '{described['device']['type']}'; what is warmed is for processors.")
    if described["layout"] != _STRIDED:
        raise ArchiveError("A weight is sparse.")


def _flat(described, size, data):
    dtype = dtype_of(described["dtype"])
    if size % dtype.itemsize:
        raise ArchiveError(f"A payload of {size} bytes holds no whole elements of {dtype}.")
    if data:
        tensor = torch.frombuffer(bytearray(data), dtype=dtype)
    elif size:
        tensor = _zeros(size, dtype)
    else:  # PyTorch saves none for what has no memory, and loads zeros.
        shape = _numbers(described["sizes"])
        tensor = empty(dtype, shape, torch.empty(shape, device="meta").stride())
    return tensor.requires_grad_(described["requires_grad"])


def _zeros(size, dtype):
    if size > MAX_BYTES:
        raise ArchiveError(f"A tensor has {size} bytes; at most {MAX_BYTES} are taken.")
    try:
        memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except OSError as error:
        raise ArchiveError(f"There is no room for a tensor of {size} bytes: {error.strerror}.") from None
    return torch.frombuffer(memory, dtype=dtype, count=size // dtype.itemsize) if size else torch.empty(0, dtype=dtype)


def _numbers(sizes):
    return [size["as_int"] for size in sizes]
