"""Dictionaries, lists, tuples, sets and their kin as globals; comprehensions, unpacking, order."""

import collections

import torch

TABLE = {"act": torch.relu, "first": 1.0, "second": 2.0}
STEPS = [1, 2, 3]
ORDER = collections.OrderedDict(a=1.0, b=2.0)
COUNTS = collections.Counter("aab")
LATER = collections.defaultdict(lambda: 0.5, {"x": 1.5})
QUEUE = collections.deque([1.0, 2.0], maxlen=4)
CHAIN = collections.ChainMap({"a": 1.0}, {"b": 2.0})
NAMES = {"first", "second"}
NESTED = {"inner": {"values": (1, [2, 3])}}


def entry(x):
    x = TABLE["act"](x) + sum(step * 2 for step in STEPS if step > 1)
    for value in ORDER.values():
        x = x * value + 1
    x = x + COUNTS["a"] + LATER["x"] + LATER["missing"] + QUEUE[0]
    first, *rest = STEPS
    x = x * first + len(rest) + CHAIN["b"]
    x = x * len(NAMES)
    for key, value in TABLE.items():
        x = x + value if key != "act" else x
    a, (b, c) = NESTED["inner"]["values"]
    merged = {**TABLE, "second": 7.0}
    return x + a * b - c + merged["second"] + max(STEPS) + len({step: 1 for step in STEPS})


def make():
    return entry, (torch.linspace(-1, 1, 8),)
