"""Helper modules imported in several ways: as modules, from them, from a package, lazily, with another name."""

import importlib

import torch

import helpers_plain
import helpers_package.inner as inner
from helpers_package import chosen, level
from helpers_plain import scale as factor
from helpers_star import *


def entry(x):
    import helpers_late

    x = x * factor + helpers_plain.shift(x) + inner.RATE
    x = chosen(x) * level + starred(x) * STAR
    x = x + helpers_late.late(x) + importlib.import_module("helpers_plain").scale
    return x * inner.deeper.depth


def make():
    import helpers_late  # Nothing is known of what an import on the way does.

    return entry, (torch.linspace(-1, 1, 8),)
