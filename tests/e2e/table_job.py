"""Runs every row module of a folder, eager and compiled, for test_warm_table.py: one JSON line.

usage: table_job.py [--stop-at-misses] FOLDER

FOLDER/ROW/MODULE.py has run(compile) -> tensor. Rows may have modules of one name: each gets its own. Where no capture
holds for the first call of a row, --stop-at-misses says so, and traces nothing.
"""

import gc
import importlib
import json
import pathlib
import sys

import torch

import stoker
from stoker.captures.install import frames
from torch._dynamo import guards

guards.profile_guard_manager = lambda *_: 0.0  # It flushes the processor's caches, to log how long guards take.


def starts():
    return {
        name.removeprefix("captures."): count for name, count in stoker.counters().items()
        if name.startswith("captures.")}


def plain(tensor):
    return tensor.as_subclass(torch.Tensor)


def run(module, stops_at_misses):
    expected = plain(module.run(lambda function, **_: function))
    before, traced = starts(), torch._dynamo.utils.counters["frames"]["total"]

    def stops():
        """Where nothing of a row has started warm."""
        return stops_at_misses and starts().get("hit") == before.get("hit")

    try:
        with frames.stopping_at_misses(stops):
            actual = plain(module.run(lambda function, **keywords: torch.compile(
                function, backend="stoker", **keywords)))
    except frames.Missed:
        actual = None
    after = starts()
    result = {
        "starts": {key: count - before.get(key, 0) for key, count in after.items()
                   if count != before.get(key, 0)},
        "traced": torch._dynamo.utils.counters["frames"]["total"] - traced}
    if actual is not None:
        scale = max(expected.abs().max().item(), 1e-30)
        result["error"] = (
            (actual.double() - expected.double()).abs().max().item() / scale
            if actual.shape == expected.shape and actual.dtype == expected.dtype else 1e9)
    return result


def modules(folder):
    """(row, module) of each, in the process as if the others were not."""
    for path in sorted(pathlib.Path(folder).glob("*/*.py")):
        torch._dynamo.reset()
        sys.path.insert(0, str(path.parent))
        importlib.invalidate_caches()
        yield path.parent.name, importlib.import_module(path.stem)
        sys.path.remove(str(path.parent))
        del sys.modules[path.stem]


def main(arguments):
    stops_at_misses = "--stop-at-misses" in arguments
    gc.freeze()  # Each row looks for garbage.
    print(json.dumps({name: run(module, stops_at_misses) for name, module in modules(arguments[-1])}))


if __name__ == "__main__":
    main(sys.argv[1:])
