"""Runs every row module of a folder as table_job.py does, and notes what ran untraced, for test_untraced.py: one JSON line.

usage: untraced_job.py FOLDER
"""

import json
import pathlib
import sys

import table_job
import torch
import untraced


def doubled(x):
    return x * 2


def main(folder):
    sys.path.insert(0, folder)
    # The first trace imports parts of PyTorch, which a capture may know of: no other process is to lack them.
    torch.compile(lambda x: doubled(x), backend="aot_eager")(torch.ones(2))
    noted = untraced.Untraced(folder)
    results = {}
    for path in sorted(pathlib.Path(folder).glob("row_*.py")):
        torch._dynamo.reset()
        results[path.stem] = table_job.run(path.stem)
        results[path.stem]["frames"] = noted.take()
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
