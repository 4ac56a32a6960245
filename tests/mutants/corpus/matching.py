"""match over values, classes, sequences and mappings; conditional expressions, while, try."""

import dataclasses

import torch


@dataclasses.dataclass
class Command:
    name: str
    amount: float = 1.5


class Plain:
    __match_args__ = ("first", "second")

    def __init__(self):
        self.first, self.second = 1.0, 2.0


PROGRAM = [Command("scale"), ("shift", 0.5), {"power": 2, "more": 1}, Plain(), 7]


def entry(x):
    for command in PROGRAM:
        match command:
            case Command("scale", amount):
                x = x * amount
            case ("shift", amount) if amount < 1:
                x = x + amount
            case {"power": 2, **rest}:
                x = x * x + len(rest)
            case Plain(first, second):
                x = x * first - second
            case int() | float():
                x = x + command
            case _:
                x = x * 0.25
    count = 0
    while count < 3:
        count += 1
        if count == 2:
            continue
        x = x + count
    try:
        x = x + {"a": 1.0}["b"]
    except KeyError:
        x = x + 0.5
    return x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
