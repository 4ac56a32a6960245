"""Decorators: with wraps and without, with arguments, of classes and of methods; stacked ones."""

import functools

import torch


def adding(amount=0.5):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(x, extra=0.25):
            return function(x) + amount + extra

        wrapper.amount = amount
        return wrapper

    return decorate


def doubled(function):
    return lambda x: function(x) * 2


def marked(cls):
    cls.mark = 1.5
    return cls


@adding(1.5)
@doubled
def first(x):
    return x * 3


@doubled
@adding()
def second(x):
    return x - 1


@marked
class Worker:
    @staticmethod
    @adding(2.0)
    def run(x):
        return x * 0.5

    @doubled
    def step(self):
        return 3.0


def entry(x):
    x = first(x) + second(x) * Worker.mark + Worker.run(x)
    x = x * Worker().step()
    return x * first.amount + first.__wrapped__(x)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
