"""Calls of functions with symbolic sizes, for test_warm.py: prints one JSON line.

usage: sized_job.py WAY CALL...   WAY: torch or direct; CALL: NAME:DTYPE:WIDTH with NAME one of FUNCTIONS
"""

import json
import sys

import torch

import stoker


def product(x, y):
    return x * y + 1


def total_and_rest(x, y):
    return x.sum() + y * 2


FUNCTIONS = {"product": product, "total_and_rest": total_and_rest}


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
        with torch.no_grad():
            expected, actual = function(x, y), compiled(x, y)
        if actual.dtype != expected.dtype or actual.shape != expected.shape or not torch.allclose(
                actual.double(), expected.double(), rtol=1e-2):
            wrong.append(call)
    print(json.dumps({"wrong": wrong, "counters": stoker.counters()}))


if __name__ == "__main__":
    import torch._dynamo

    main(sys.argv[1], sys.argv[2:])
