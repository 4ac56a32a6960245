"""A function that changes an input in place, called with inputs that lie apart, in each other, or are one, in every order of
two. Prints the orders of calls that gave something else than eager, and what was counted."""

import itertools
import json

import torch

import stoker

CUTS = {
    "apart": lambda memory: (memory[:8], memory[8:].clone()),
    "beside": lambda memory: (memory[:8], memory[8:]),
    "overlapping": lambda memory: (memory[:8], memory[4:12]),
    "overlapping more": lambda memory: (memory[:8], memory[2:10]),
    "before": lambda memory: (memory[4:12], memory[:8]),
    "one": lambda memory: (memory[:8], memory[:8]),
}


def doubled_and_added(x, y):
    x.mul_(2)
    return x + y


def run(function, cut):
    memory = torch.arange(16.0)
    return function(*cut(memory)), memory


def main():
    wrong = []
    for dynamic in (None, True):
        for order in itertools.permutations(CUTS, 2):
            torch._dynamo.reset()
            compiled = torch.compile(doubled_and_added, backend="stoker", dynamic=dynamic)
            for name in order:
                pairs = zip(run(compiled, CUTS[name]), run(doubled_and_added, CUTS[name]))
                if not all(torch.equal(one, other) for one, other in pairs):
                    wrong.append([name, order, dynamic])
    print(json.dumps({"wrong": wrong, "counters": stoker.counters()}))


if __name__ == "__main__":
    main()
