"""One start in its own process, for test_warm.py: prints what happened as one JSON line.

usage: warm_job.py CASE   with CASE a function of warm_cases.py that gives (function, arguments, keywords)
"""

import json
import sys

import torch

import stoker
import warm_cases


def tensors_of(value):
    """Every tensor in a result, in order; other leaves as text."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in tensors_of(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in tensors_of(item)]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return tensors_of(vars(value))
    return [] if value is None else [repr(value)]


def run(name):
    case = getattr(warm_cases, name)
    with torch.no_grad():
        expected = []
        for function, arguments, keywords in case():
            expected += tensors_of(function(*arguments, **keywords))
            expected += tensors_of(arguments)  # What was changed in place.
        torch._dynamo.reset() if "torch._dynamo" in sys.modules else None
        actual, again = [], []
        for results in (actual, again):
            for function, arguments, keywords in case():
                compiled = torch.compile(function, **warm_cases.OPTIONS.get(name, {}), backend="stoker")
                results += tensors_of(compiled(*arguments, **keywords))
                results += tensors_of(arguments)
    from torch._dynamo.utils import counters

    return {
        "error": max(map(difference, actual, expected), default=None),
        "repeats": max(map(difference, again, expected), default=None),
        "leaves": [len(actual), len(expected)],
        "torch": {group: dict(counts) for group, counts in counters.items() if counts},
        "stoker": stoker.counters(),
        "compiles": len([c for c in stoker.compiles() if not c.get("captured")]),
        "fallbacks": stoker.fallback_ops(),
    }


def difference(actual, expected):
    if isinstance(actual, str):
        return 0.0 if actual == expected else 1e9
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return 1e9
    actual, expected = actual.double(), expected.double()
    scale = max(torch.linalg.norm(expected).item(), 1e-30)
    return torch.linalg.norm(actual - expected).item() / scale


if __name__ == "__main__":
    print(json.dumps({name: run(name) for name in sys.argv[1:]}))
