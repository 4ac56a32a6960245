"""Runs every row module of a folder as table_job.py does, and notes what ran untraced, for test_untraced.py: one JSON line.

usage: untraced_job.py [--stop-at-misses] FOLDER
"""

import json
import sys

import table_job
import torch
import untraced


def doubled(x):
    return x * 2


def main(arguments):
    folder = arguments[-1]
    # The first trace imports parts of PyTorch, which a capture may know of: no other process is to lack them.
    torch.compile(lambda x: doubled(x), backend="aot_eager")(torch.ones(2))
    noted = untraced.Untraced(folder)
    results = {}
    for name, module in table_job.modules(folder):
        results[name] = table_job.run(module, "--stop-at-misses" in arguments)
        results[name]["frames"] = noted.take()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
