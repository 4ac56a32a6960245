"""A graph whose daemon does not answer at first, for test_fallback.py: one JSON line.

usage: late_job.py WIDTH   runs until the graph is compiled; says "eager" when it runs without
"""

import json
import sys
import time

import torch

import stoker
from stoker.runtime import executable

PATIENCE_S = 240


def count_runs():
    original, runs = executable.Executable.run_once, []

    def run(self, *arguments):
        runs.append(None)
        original(self, *arguments)

    executable.Executable.run_once = run
    return runs


def main(width):
    runs = count_runs()
    torch.manual_seed(0)
    weight, x = torch.randn(width, width), torch.randn(3, width)

    def function(x):
        return torch.tanh(x @ weight) * 2

    compiled = torch.compile(function, backend="stoker")
    with torch.no_grad():
        expected = function(x)
        started = time.monotonic()
        errors = [(compiled(x) - expected).abs().max().item()]
        first_call_s = time.monotonic() - started
        in_eager = dict(stoker.counters())
        print("eager", flush=True)
        end = time.monotonic() + PATIENCE_S
        # A graph is counted a moment before it is used.
        while not (stoker.counters().get("graphs") and runs) and time.monotonic() < end:
            errors.append((compiled(x) - expected).abs().max().item())
            time.sleep(0.05)
        runs_before = len(runs)
        errors.append((compiled(x) - expected).abs().max().item())
    print(json.dumps({
        "error": max(errors), "first_call_s": first_call_s, "in_eager": in_eager, "counters": stoker.counters(),
        "runs": len(runs) - runs_before}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
