"""Programs with optimizers, for test_warm_optimizers.py: each runs eagerly and compiled, and what they leave is compared. Prints one
JSON line.

usage: warm_optimizers_job.py [--directly] PROGRAM...   with PROGRAM a name of warm_optimizers_cases.PROGRAMS, or fuzz:SEED
"""

import gc
import hashlib
import json
import sys

import torch

import stoker
import warm_optimizers_cases as cases
from job import Warnings


def digest_of(state):
    """Of tensors bit for bit, and of all else as text."""
    hasher = hashlib.sha256()
    for leaf in state:
        hasher.update(
            leaf.detach().reshape(-1).view(torch.uint8).numpy().tobytes() if isinstance(leaf, torch.Tensor) and leaf.numel()
            else repr(leaf).encode())
    return hasher.hexdigest()


def difference(found, expected):
    """1e9 where they are not of one kind."""
    if not isinstance(found, torch.Tensor) or not isinstance(expected, torch.Tensor):
        return 0.0 if repr(found) == repr(expected) else 1e9
    if found.shape != expected.shape or found.dtype != expected.dtype or found.stride() != expected.stride():
        return 1e9
    found, expected = found.detach().double(), expected.detach().double()
    return (found - expected).norm().item() / max(expected.norm().item(), 1e-6)


def frames():
    dynamo = sys.modules.get("torch._dynamo.utils")
    return {} if dynamo is None else {group: dict(counts) for group, counts in dynamo.counters.items() if counts}


def run(name, compile):
    program = cases.program(name)
    torch.manual_seed(0)
    expected = cases.leaves_of(program(lambda function: function))
    before = stoker.counters()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()  # PyTorch's limit of recompiles is for each program.
    torch.manual_seed(0)
    found = cases.leaves_of(program(compile))
    after = stoker.counters()
    return {
        "error": max([difference(*pair) for pair in zip(found, expected)], default=0.0) if len(found) == len(expected) else 1e9,
        "digest": digest_of(found),
        "stoker": {key: count - before.get(key, 0) for key, count in after.items() if count != before.get(key, 0)}}


def main():
    warnings = Warnings()
    names = [name for name in sys.argv[1:] if not name.startswith("--")]

    def compile(function):
        if "--directly" in sys.argv:
            return stoker.compile(function)
        return torch.compile(function, backend="stoker")

    starts = {}
    for name in names:
        starts[name] = run(name, compile)
        gc.collect()
        starts[name]["torch"] = frames()
    print(json.dumps({
        "starts": starts, "torch": frames(), "stoker": stoker.counters(), "warnings": warnings.messages,
        "globals": [
            name for module in list(sys.modules.values()) for name in list(getattr(module, "__dict__", None) or ())
            if name.startswith("__stoker_") and "_of_" in name],
        "alive": sum(isinstance(each, torch.optim.Optimizer) for each in gc.get_objects()),
        "dynamo": "torch._dynamo" in sys.modules}))


if __name__ == "__main__":
    main()
