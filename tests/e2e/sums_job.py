"""Prints how far sums, statistics and scans are off in float32, in units of its spacing times the largest element of the
exact result, as [case, eager, compiled]: numbers far from zero, long chains, products beyond the range."""

import functools
import json

import torch

SPACING = 2.0 ** -23
FAR = 1e4


def far(*shape):
    return torch.randn(shape) + FAR


def near(*shape):
    return torch.randn(shape) + 10


def spread(*shape):
    return torch.rand(shape) + 0.5


def layer_norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def rms_norm(x):
    return torch.nn.functional.rms_norm(x, x.shape[-1:])


def group_norm(x):
    return torch.nn.functional.group_norm(x, 4)


def batch_norm(x):
    return torch.nn.functional.batch_norm(x, None, None, training=True)


def instance_norm(x):
    return torch.nn.functional.instance_norm(x)


def running(x):
    mean, variance = torch.zeros(x.shape[1], dtype=x.dtype), torch.ones(x.shape[1], dtype=x.dtype)
    torch.nn.functional.batch_norm(x, mean, variance, training=True)
    return variance


def gradients(function, x):
    x = x.detach().requires_grad_()
    y = function(x)
    return torch.autograd.grad((y * torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape)).sum(), x)[0]


def over(name, *arguments):
    return lambda x: getattr(x, name)(*arguments)


torch.manual_seed(0)  # Of these numbers: how far a case is off follows from them, by half as much again.
CASES = {
    "sum of ones over rows": (over("sum", 0), torch.ones(20_000_000, 2)),
    "sum of equal terms": (over("sum"), torch.full((5_000_000,), 0.1)),
    "sum of equal terms over rows": (over("sum", 0), torch.full((300_000, 7), 0.1)),
    "sum of equal terms over columns": (over("sum", 1), torch.full((7, 300_000), 0.1)),
    "sum of equal terms over two dims": (over("sum", (0, 2)), torch.full((300, 7, 400, 3), 0.1)),
    "mean over rows": (over("mean", 0), far(100_000, 8)),
    "mean over columns": (over("mean", 1), far(8, 100_000)),
    "variance over rows": (over("var", 0), far(100_000, 8)),
    "variance over columns": (over("var", 1), far(8, 100_000)),
    "variance of all": (over("var"), far(1000, 1000)),
    "standard deviation": (over("std", 1), far(64, 768)),
    "variance of equal numbers": (over("std", 1), torch.full((3, 5000), FAR + 0.1)),
    "layer norm": (layer_norm, far(64, 768)),
    "layer norm of long rows": (layer_norm, far(4, 65536)),
    "rms norm": (rms_norm, far(4, 65536)),
    "group norm": (group_norm, far(4, 32, 64, 64)),
    "batch norm": (batch_norm, far(32, 16, 32, 32)),
    "instance norm": (instance_norm, far(4, 16, 64, 64)),
    "running variance": (running, far(32, 16, 32, 32)),
    "gradient of layer norm": (functools.partial(gradients, layer_norm), near(64, 768)),
    "gradient of group norm": (functools.partial(gradients, group_norm), near(4, 32, 32, 32)),
    "gradient of batch norm": (functools.partial(gradients, batch_norm), near(16, 16, 32, 32)),
    "softmax": (over("softmax", 1), torch.randn(2, 1_000_000)),
    "logsumexp": (over("logsumexp", 0), torch.randn(1_000_000, 3)),
    "cumulative sum": (over("cumsum", 1), spread(4, 1_000_000)),
    "cumulative sum over rows": (over("cumsum", 0), spread(1_000_000, 4)),
    "cumulative product": (over("cumprod", 0), 1 + torch.randn(100_000) / 1e4),
    "cumulative product, vanishing": (over("cumprod", 0), spread(3000) / 2),
    "cumulative product beyond the range": (over("cumprod", 0), torch.tensor([1e-30, 1e30, 1e30, 0.5] * 30)),
}


def error(found, exact):
    """Not finite where the exact result is: infinite."""
    exact = exact.to(torch.float32).double()
    finite = exact.isfinite()
    same = torch.where(finite, found.isfinite(), (found == exact) | (found.isnan() & exact.isnan()))
    if not same.all():
        return float("inf")
    largest = exact[finite].abs().max().clamp_min(2.0 ** -126)
    return float((found.double() - exact)[finite].abs().max() / largest / SPACING)


def main():
    torch.manual_seed(0)
    rows = []
    for name, (function, x) in CASES.items():
        exact = function(x.double())
        eager = error(function(x), exact)
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend="stoker", dynamic=dynamic)
            label = name + ", dynamic sizes" if dynamic else name
            rows.append([label, eager, error(compiled(x), exact)])
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
