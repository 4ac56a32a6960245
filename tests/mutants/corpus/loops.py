"""Loops that PyTorch hands on as graphs, with the program's own conditions and bodies."""

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

LIMIT = 3
STEP = 1


class Decay:
    rate = 0.5

    def __call__(self, x):
        return x * self.rate


decay = Decay()


def below(i, x):
    return i < LIMIT


def grown(i, x):
    return i + STEP, decay(x).tanh() + 0.25


def summed(carried, row):
    total = carried + row * 2
    return total, total.sin()


def powers(i, x):
    """No kernel: the loop is PyTorch's."""
    return i + 1, torch.linalg.matrix_exp(x) / 4


def entry(x):
    _, y = while_loop(below, grown, (torch.zeros((), dtype=torch.int64), x))
    last, rows = scan(summed, y[0], x)
    _, z = while_loop(lambda i, x: i < 2, powers, (torch.zeros((), dtype=torch.int64), x[:2, :2].contiguous().clone()))
    return last, rows, z


def make():
    return entry, (torch.linspace(-1, 1, 12).reshape(3, 4),)
