"""Calls a compiled function wherever the first call of another one imports a module of Stoker's, as a signal handler may.

Prints one JSON line: {"inner": are all results right?, "calls": how many, "outer": is its result?, "hits": warm starts}.
"""

import json
import sys

import stoker
import torch

X = torch.arange(6.0)
INNER = []  # (compiled, eager), for one call each.


class Interrupts:
    """Finds nothing."""

    def __init__(self):
        self.results = []

    def find_spec(self, name, path=None, target=None):
        if name.startswith("stoker.") and len(self.results) < len(INNER):
            place = len(self.results)
            compiled, eager = INNER[place]
            self.results.append(None)  # It imports something itself.
            self.results[place] = torch.equal(compiled(X), eager(X))


def outer(x):
    return x * 3 - 1


for number in range(40):
    names = {}
    exec(f"def inner_{number}(x):\n    return x * {number + 2} + 1\n", names)
    INNER.append((torch.compile(names[f"inner_{number}"], backend="stoker"), names[f"inner_{number}"]))
interrupts = Interrupts()
compiled = torch.compile(outer, backend="stoker")
sys.meta_path.insert(0, interrupts)
result = torch.equal(compiled(X), outer(X))
sys.meta_path.remove(interrupts)
print(json.dumps({
    "inner": all(interrupts.results), "calls": len(interrupts.results), "outer": result,
    "hits": stoker.counters().get("captures.hit", 0)}))
