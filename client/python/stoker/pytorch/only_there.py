"""A mode in which all tensors are on one device."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class ElsewhereError(Exception):
    """An operator was given, or gave, a tensor of another device."""


class OnlyThere(TorchDispatchMode):
    """`numbers`: tensors there that stand for numbers of the CPU. What is made of nothing else stands for what would be on
    the CPU, too."""

    def __init__(self, device, numbers=()):
        super().__init__()
        self._device = device
        self._numbers = {id(number): number for number in numbers}

    def stands_for_another(self, tensor):
        """Would it be on the CPU?"""
        return id(tensor) in self._numbers

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        keywords = kwargs or {}
        result = func(*args, **keywords)
        given, made = _tensors_in([args, list(keywords.values())]), _tensors_in(result)
        for value in (*given, *made):
            if value.device != self._device:
                raise ElsewhereError(f"{func} has a tensor on {value.device.type}")
        if self._numbers and given and "device" not in keywords and all(self.stands_for_another(each) for each in given):
            self._numbers.update((id(value), value) for value in made)
        return result


def _tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors_in(item)]
    return []
