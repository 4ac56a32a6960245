"""Closures and defaults that hold modules, functions and objects; nonlocal and global state."""

import math

import torch


def over(module, function):
    count = 0

    def run(x, library=module):
        nonlocal count
        return function(x) * library.pi + module.e + count

    return run


class Settings:
    rate = 1.5


def with_settings(settings=Settings(), table={"a": 1.0}):
    return lambda x: x * settings.rate + table["a"]


total = 3.0


def reads_global(x):
    global total
    return x + total


RUN = over(math, torch.tanh)
SET = with_settings()


def entry(x):
    return reads_global(SET(RUN(x))) + math.floor(2.5) + math.inf * 0 if math.isinf(1.0) else SET(RUN(reads_global(x)))


def make():
    return entry, (torch.linspace(-1, 1, 8),)
