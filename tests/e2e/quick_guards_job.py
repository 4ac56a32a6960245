"""Guards in the process that recorded a capture. Prints JSON: see test_quick_guards.py."""

import gc
import json
import logging
import sys
import types
import weakref

import torch
from torch._dynamo.guards import GuardManagerWrapper

FACTOR = 2.0
asked, reasons = [], []


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        self.shift = 1.0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) * FACTOR + self.shift
        return x


def scaled(x):
    return scale(x) + 1


def module_with(factor):
    """Each time a module of the same name and code, with globals of its own."""
    module = types.ModuleType("scales")
    exec(f"FACTOR = {factor}\ndef scale(x):\n    return x * FACTOR\n", vars(module))
    return module


def is_right_with_equal_code():
    """A module is executed anew, and what reads its globals takes the place of what read the first one's."""
    global scale
    compiled, x, right = torch.compile(scaled, backend="stoker"), torch.ones(3), []
    sys.modules["scales"] = module_with(2.0)
    for scale in (sys.modules["scales"].scale, module_with(3.0).scale):
        right += [torch.equal(compiled(x), scaled(x)) for _ in range(3)]
    return all(right)


class Reasons(logging.Handler):
    def emit(self, record):
        reasons.append(record.getMessage())


def main():
    global FACTOR
    original = GuardManagerWrapper.check

    def check(self, x):
        holds = original(self, x)
        asked.append(holds)
        return holds

    GuardManagerWrapper.check = check
    torch._logging.set_logs(recompiles=True)
    logging.getLogger("torch._dynamo.guards.__recompiles").addHandler(Reasons())
    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(2, 4)
    compiled = torch.compile(model, backend="stoker")
    right, counts = [], []

    def calls(*arguments):
        asked.clear()
        for _ in range(5):
            right.append(torch.allclose(compiled(*arguments), model(*arguments), atol=1e-6))
        counts.append([len(asked), sum(asked)])

    with torch.no_grad():
        calls(x)
        FACTOR = 3.0
        calls(x)
        model.layers[1].weight.data.mul_(2)  # No guard looks at elements.
        calls(x)
        FACTOR = 2.0
        calls(x)
        model.shift = 0.5
        calls(x)
    with torch.inference_mode():
        calls(x)
    dead = weakref.ref(model)
    del model, compiled
    gc.collect()
    print(json.dumps({"right": all(right), "asked": counts, "reasons": list(reasons), "freed": dead() is None,
                      "equal code": is_right_with_equal_code()}))


main()
