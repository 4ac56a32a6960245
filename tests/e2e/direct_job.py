"""stoker.compile in its own process, for test_warm.py: prints one JSON line.

usage: direct_job.py CASE...   cases of warm_cases.py, all in one process
"""

import json
import sys

import torch

import stoker
import warm_cases
from warm_job import difference, tensors_of


def main(names):
    error = 0.0
    with torch.no_grad():
        for name in names:
            expected, actual = [], []
            for results, wrap in ((expected, lambda f: f), (actual, stoker.compile)):
                for function, arguments, keywords in getattr(warm_cases, name)():
                    called = wrap(function)
                    for _ in range(2):
                        results += tensors_of(called(*arguments, **keywords))
                        results += tensors_of(arguments)
            assert len(actual) == len(expected)
            error = max(error, *map(difference, actual, expected))
    print(json.dumps({
        "error": error, "counters": stoker.counters(),
        "imported": sorted(
            name for name in sys.modules
            if name.split(".")[0] in ("sympy", "triton")
            or name.startswith(("torch._dynamo", "torch._inductor")))}))


if __name__ == "__main__":
    main(sys.argv[1:])
