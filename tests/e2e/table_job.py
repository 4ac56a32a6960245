"""Runs every row module of a folder, eager and compiled, for test_warm_table.py: one JSON line.

usage: table_job.py FOLDER   each *.py in it has run(compile) -> tensor
"""

import importlib
import json
import pathlib
import sys

import torch

import stoker
from torch._dynamo import guards

guards.profile_guard_manager = lambda *_: 0.0  # It flushes the processor's caches, to log how long guards take.


def starts():
    return {
        name.removeprefix("captures."): count for name, count in stoker.counters().items()
        if name.startswith("captures.")}


def plain(tensor):
    return tensor.as_subclass(torch.Tensor)


def run(name):
    module = importlib.import_module(name)
    expected = plain(module.run(lambda function, **_: function))
    before, traced = starts(), torch._dynamo.utils.counters["frames"]["total"]
    actual = plain(module.run(lambda function, **keywords: torch.compile(
        function, backend="stoker", **keywords)))
    after = starts()
    scale = max(expected.abs().max().item(), 1e-30)
    return {
        "error": (actual.double() - expected.double()).abs().max().item() / scale
        if actual.shape == expected.shape and actual.dtype == expected.dtype else 1e9,
        "starts": {key: count - before.get(key, 0) for key, count in after.items()
                   if count != before.get(key, 0)},
        "traced": torch._dynamo.utils.counters["frames"]["total"] - traced,
    }


def main(folder):
    sys.path.insert(0, folder)
    results = {}
    for path in sorted(pathlib.Path(folder).glob("row_*.py")):
        torch._dynamo.reset()
        results[path.stem] = run(path.stem)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
