"""Generators, iterators, sorted with keys, map and filter, zip, itertools, any and all."""

import itertools
import operator

import torch

PAIRS = [("b", 2.0), ("a", 1.0)]
LIMIT = 3


def counted(limit):
    for place in range(limit):
        yield place * 0.5


def is_odd(value):
    return value % 2 == 1


class Item:
    order = 1

    def __init__(self, weight):
        self.weight = weight


ITEMS = [Item(3.0), Item(1.0)]


def by_weight(item):
    return item.weight * item.order


def entry(x):
    for value in counted(LIMIT):
        x = x + value
    for name, value in sorted(PAIRS):
        x = x * value + 1
    for item in sorted(ITEMS, key=by_weight):
        x = x * item.weight + 1
    x = x + sum(map(operator.neg, filter(is_odd, range(5))))
    for one, other in zip(PAIRS, itertools.count(1)):
        x = x + other * one[1]
    x = x + sum(itertools.chain([1], [2])) + max(PAIRS, key=operator.itemgetter(1))[1]
    return x * 2 if any(is_odd(place) for place in (2, 4)) else x * (3 if all(PAIRS) else 1)


def make():
    return entry, (torch.linspace(-1, 1, 8),)
