"""The modules that a module holds."""

import torch
from torch import nn

from stoker.pytorch.modules import held_modules


def test_they_are_those_of_pytorch():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.ModuleDict({"a": nn.ReLU(), "b": nn.Sequential(shared, nn.Tanh())}))
    model.register_module("none", None)
    assert held_modules(model) == list(model.named_modules())
    assert held_modules(torch.jit.script(nn.Sequential(nn.ReLU())))


def test_nothing_of_the_programs_is_called():
    class Held(nn.Module):
        __hash__ = 7

        def named_modules(self, *arguments, **keywords):
            raise ValueError

    model = nn.Sequential(Held(), nn.Sequential(Held()))
    assert [name for name, _ in held_modules(model)] == ["", "0", "1", "1.0"]
