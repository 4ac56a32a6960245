"""Programs whose model goes: prints how many of their parameters, and how much memory, stayed, as JSON."""

import gc
import json
import sys
import time
import weakref

import torch

import stoker

SIZE = 3000  # 36 MB a weight, and as much packed.
WAIT_S = 20


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(SIZE, SIZE)

    def forward(self, x):
        return self.layer(x).relu()


def with_cell():
    layer = torch.nn.Linear(SIZE, SIZE)

    def run(x):
        return layer(x).relu()

    return run, layer


def resident_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024


def main():
    compile = stoker.compile if sys.argv[1] == "direct" else lambda f: torch.compile(f, backend="stoker")
    x, ends, grown = torch.randn(2, SIZE), [], []
    for make in (lambda: (Model(),) * 2, with_cell, lambda: (Model(),) * 2, with_cell):
        before = resident_mb()
        function, owner = make()
        compiled = compile(function)
        with torch.no_grad():
            compiled(x), compiled(x)
        ends += map(weakref.ref, (p for p in owner.parameters()))
        del function, owner, compiled
        gc.collect()
        deadline = time.monotonic() + WAIT_S
        while resident_mb() - before > SIZE * SIZE * 4 / 2e6 and time.monotonic() < deadline:
            time.sleep(0.05)
        grown.append(resident_mb() - before)
    print(json.dumps({
        "alive": sum(end() is not None for end in ends), "grown_mb": grown, "counters": stoker.counters()}))


main()
