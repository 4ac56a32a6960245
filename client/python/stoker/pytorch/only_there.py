"""A mode in which all tensors are on one device."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class ElsewhereError(Exception):
    """An operator was given, or gave, a tensor of another device."""


class OnlyThere(TorchDispatchMode):
    def __init__(self, device):
        super().__init__()
        self._device = device

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        result = func(*args, **keywords)
        for value in _flat([args, list(keywords.values()), result]):
            if isinstance(value, torch.Tensor) and value.device != self._device:
                raise ElsewhereError(f"{func} has a tensor on {value.device.type}")
        return result


def _flat(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value
