"""torch.autograd.Function, grad modes, dtype and device arguments, factory calls."""

import torch

DTYPE = torch.float32
SHAPE = (8,)
FILL = 1.5


class Cube(torch.autograd.Function):
    power = 3

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**Cube.power

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


def entry(x):
    x = x + torch.full(SHAPE, FILL, dtype=DTYPE) + torch.arange(8, dtype=DTYPE)
    with torch.no_grad():
        x = Cube.apply(x)
    if torch.is_grad_enabled():
        x = x * 2
    return x.to(torch.float64).clamp(-5.0, 50.0).view(2, 4).sum(dim=1, keepdim=True)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
