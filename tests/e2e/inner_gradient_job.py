"""A compiled function that asks for a gradient behind a graph break, beside eager PyTorch, for test_training.py: one JSON
line.
"""

import json
import warnings

import torch

import stoker


def function(x, w):
    y = (x @ w).tanh().sum()
    torch._dynamo.graph_break()
    gradient, = torch.autograd.grad(y, w)
    return gradient * 2


def main():
    torch.manual_seed(0)
    x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = torch.compile(function, backend="stoker")(x, w)
    print(json.dumps({
        "error": (result - function(x, w)).abs().max().item(),
        "frames": torch._dynamo.utils.counters["frames"]["total"],
        "warnings": [str(warning.message) for warning in said], "graphs": stoker.counters()["graphs"]}))


if __name__ == "__main__":
    main()
