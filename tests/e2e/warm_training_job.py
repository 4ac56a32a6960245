"""One start of each case in its own process, for test_warm_training.py and tests/device: prints what happened as one JSON line."""

import argparse
import json
import sys

import torch

import stoker
import warm_training_cases
from job import Warnings
from warm_job import difference, tensors_of


def on(device, case):
    """The case with its tensors there."""
    if case.module is not None:
        case.module.to(device)
    return case._replace(arguments=tuple(
        value.detach().to(device).requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
        for value in case.arguments))


def outcome(case, called):
    """What is compared of it: results, gradients, what a module holds."""
    if case.run is not None:
        return tensors_of(list(case.run(called, case.arguments)))
    results = tensors_of(called(*case.arguments))
    with_gradients = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
    weights = [torch.linspace(1, 2, value.numel()).reshape(value.shape).to(value.device) for value in with_gradients]
    sum((value * weight).sum() for value, weight in zip(with_gradients, weights)).backward()
    module = [] if case.module is None else [*case.module.parameters()]
    leaves = [value for value in (*case.arguments, *module) if isinstance(value, torch.Tensor)]
    held = [] if case.module is None else [*case.module.parameters(), *case.module.buffers()]
    return [
        *results, *leaves, *held, *(torch.zeros(()) if leaf.grad is None else leaf.grad for leaf in leaves),
        f"gradients {[leaf.grad is not None for leaf in leaves]} {[value.requires_grad for value in leaves]}",
        f"results {[value.requires_grad if isinstance(value, torch.Tensor) else None for value in results]}",
        f"views {[value._base is not None for value in results if isinstance(value, torch.Tensor)]}"
        if not any(value.requires_grad for value in results if isinstance(value, torch.Tensor)) else ""]


def run(name, compile, device):

    def make():
        return on(device, getattr(warm_training_cases, name)())

    case = make()
    expected = outcome(case, case.function) if case.is_as_eager else None
    found = []
    for _ in range(2):
        case = make()
        found.append(outcome(case, compile(case.function, **case.options)))
    dynamo = sys.modules.get("torch._dynamo.utils")
    counters = {} if dynamo is None else dynamo.counters
    expected = expected or found[0]
    return {
        "error": max(map(difference, found[0], expected), default=None),
        "repeats": max(map(difference, found[1], expected), default=None),
        "leaves": [len(found[0]), len(expected)],
        "found": repr([leaf if isinstance(leaf, str) else leaf.tolist() for leaf in found[0]]),
        "torch": {group: dict(counts) for group, counts in counters.items() if counts},
        "stoker": stoker.counters(),
        "compiles": len([c for c in stoker.compiles() if not c.get("captured")]),
        "fallbacks": stoker.fallback_ops(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", metavar="CASE", help="functions of warm_training_cases.py")
    parser.add_argument("--directly", action="store_true", help="by stoker.compile")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mode", help="of torch.compile")
    chosen = parser.parse_args()
    warnings = Warnings()

    def compile(function, **options):
        if chosen.directly:
            return stoker.compile(function, mode=chosen.mode, **options)
        return torch.compile(function, backend="stoker", mode=chosen.mode, **options)

    print(json.dumps({
        "starts": {name: run(name, compile, chosen.device) for name in chosen.cases}, "warnings": warnings.messages,
        "dynamo": "torch._dynamo" in sys.modules}))


if __name__ == "__main__":
    main()
