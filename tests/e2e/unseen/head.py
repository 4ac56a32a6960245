"""What the programs have before and after what each is about."""

HEAD = '''
import abc
import collections
import dataclasses
import enum
import functools
import importlib.machinery
import importlib.util
import operator
import re
import sys
import typing

import torch

FACTORS = {"red": 1.5, "green": 0.25, "blue": 3.0, "white": 0.5, "black": 2.0}
NAMES = tuple(FACTORS)
COUNT = 1
MORE, FEWER = dict.fromkeys(NAMES), dict.fromkeys(NAMES[1:])


class Box:
    pass


class Member(enum.Enum):
    ONE = 1

    def __str__(self):
        return text()


def first(x, names):
    for name in names:
        return x * FACTORS[name]


BODY

def run(compile):
    torch.manual_seed(5)
    x = torch.randn(3, 8)
    compiled = compile(ENTRY)
    with torch.no_grad():
        found = compiled(x)
    return (found[0] * found[1] if isinstance(found, tuple) else found).detach().clone()
'''


def text_of(body):
    return HEAD.replace("BODY", body) if "def run(" not in body else HEAD.partition("BODY")[0] + body
