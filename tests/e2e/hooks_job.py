"""Compiled functions under a hook on all modules, which none of Stoker's own is. Prints the errors as JSON."""

import json

import torch
from torch.nn.modules.module import register_module_forward_hook

import stoker


class Tripled(torch.autograd.Function):
    """A gradient of its own."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def moved(x):
    return x.t()


def without_rule(x):
    return torch.erfinv(x) + 1


def compiled(x):
    return (x.sin() * 2 + 1).exp()


def own_gradient(x):
    return Tripled.apply(x) + 1


def results(function, requires_grad):
    x = (torch.arange(4.0) / 8).reshape(2, 2).requires_grad_(requires_grad)
    result = function(x)
    if requires_grad:
        result.sum().backward()
    return result, x.grad if requires_grad else result


def main():
    seen = []
    register_module_forward_hook(lambda module, arguments, result: seen.append(type(module).__name__))
    errors = {}
    for function in (moved, without_rule, compiled, own_gradient):
        for requires_grad in (False, True):
            expected = results(function, requires_grad)
            actual = results(torch.compile(function, backend="stoker"), requires_grad)
            errors[f"{function.__name__} {requires_grad}"] = max(
                (one - other).abs().max().item() for one, other in zip(actual, expected))
    print(json.dumps({"errors": errors, "seen": seen, "counters": stoker.counters()}))


if __name__ == "__main__":
    main()
