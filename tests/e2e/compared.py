"""What jobs print that compare compiled functions with eager: {name: [result, result of eager, was it a hit?]}."""

import torch

import stoker


def counted_hits():
    return stoker.counters().get("captures.hit", 0)


def compared(functions):
    found = {}
    for function in functions:
        before = counted_hits()
        x = torch.ones(2)
        result = torch.compile(function, backend="stoker")(x)
        found[function.__name__] = [result.tolist(), function(x).tolist(), counted_hits() > before]
    return found
