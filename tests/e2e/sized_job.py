"""Calls of functions with symbolic sizes, for test_warm.py: prints one JSON line.

usage: sized_job.py WAY CALL...   WAY: torch or direct; CALL: NAME:DTYPE:WIDTH with NAME one of FUNCTIONS
"""

import json
import math
import sys

import torch

import stoker


def product(x, y):
    return x * y + 1


def total_and_rest(x, y):
    return x.sum() + y * 2


class Scaled(torch.nn.Module):
    OFFSET = 0.5

    def __init__(self):
        super().__init__()
        self.scale = 1.5

    def forward(self, x, y, *, third=0.25):
        return x * self.scale + y * self.OFFSET - third


class Inherited(Scaled):
    """A class reads what another holds."""


def by_default(x, y, factor=2.5):
    return x * y * factor


FUNCTIONS = {
    "product": product, "total_and_rest": total_and_rest, "scaled": Scaled(), "inherited": Inherited(),
    "by_default": lambda x, y: by_default(x, y)}
CHANGES = {
    "scaled": lambda: setattr(Scaled, "OFFSET", 3.5), "inherited": lambda: setattr(Scaled, "OFFSET", math.nan),
    "by_default": lambda: setattr(by_default, "__defaults__", (-0.0,))}


def main(way, calls):
    torch.manual_seed(0)
    wrong = []
    for call in calls:
        name, dtype, width = call.split(":")
        function = FUNCTIONS[name]
        compiled = (
            stoker.compile(function, dynamic=True) if way == "direct"
            else torch.compile(function, backend="stoker", dynamic=None if name == "total_and_rest" else True))
        x = torch.randn(5, 6).to(getattr(torch, dtype))
        y = torch.arange(int(width)).to(x.dtype)
        if name == "total_and_rest":
            torch._dynamo.mark_dynamic(x, 0)
        for change in (None, CHANGES.get(name)):
            if change is not None:
                change()
            with torch.no_grad():
                expected, actual = function(x, y), compiled(x, y)
            if actual.dtype != expected.dtype or actual.shape != expected.shape or not torch.allclose(
                    actual.double(), expected.double(), rtol=1e-2, equal_nan=True):
                wrong.append(call)
    print(json.dumps({"wrong": wrong, "counters": stoker.counters()}))


if __name__ == "__main__":
    import torch._dynamo

    main(sys.argv[1], sys.argv[2:])
