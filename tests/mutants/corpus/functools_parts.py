"""partial, lru_cache, reduce."""

import functools
import operator

import torch


def scaled(x, factor, shift=1.0):
    return x * factor + shift


half = functools.partial(scaled, factor=0.5)
shifted = functools.partial(scaled, shift=2.0, factor=3.0)


@functools.lru_cache(maxsize=None)
def table(size):
    return tuple(range(size))


class Holder:
    rate = 1.5

    def __init__(self):
        self.run = functools.partial(self.scaled, amount=2.0)

    def scaled(self, x, amount):
        return x * amount * self.rate


HOLDER = Holder()


def entry(x):
    x = half(x) + shifted(x) * HOLDER.rate
    x = HOLDER.run(x) + sum(table(4))
    x = x + functools.reduce(operator.add, [1, 2, 3])
    return x * operator.mul(2, 3)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
