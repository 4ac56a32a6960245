"""PyTorch's own samples of its operators, in one process: the stoker backend beside eager PyTorch.

usage: op_samples_job.py [--shared] [OPERATOR...]

OPERATOR is a name as PyTorch's tests print it, of word characters; without any, all of them run. Prints one JSON line for each:
{"op": name, "outcome": "passed" | "failed" | "skipped", "why": text}. --shared calls all operators through
one function, whose code says nothing about which operator it calls.
"""

import importlib
import itertools
import json
import pathlib
import re
import sys
import tempfile

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 2
# Float32 results of values up to 9; sums of a few dozen of them.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


class Skip(Exception):
    pass


def functions_of_their_own(ops, folder):
    """What a user writes: for each operator a function in a module, that names it."""
    path = pathlib.Path(folder, "op_calls.py")
    path.write_text("\n\n".join(
        f"def call_{name}(x, *args, **kwargs):\n    return op_{name}(x, *args, **kwargs)\n"
        for name in ops))
    sys.path.insert(0, folder)
    module = importlib.import_module(path.stem)
    for name, op in ops.items():
        setattr(module, f"op_{name}", op.op)
    return {name: getattr(module, f"call_{name}") for name in ops}


def shared_function(op):
    return lambda x, *args, **kwargs: op.op(x, *args, **kwargs)


def outcome(function, sample):
    """The result for a copy of a sample's tensors, which an operator may change in place."""
    copied = pytree.tree_map_only(torch.Tensor, torch.clone, (sample.input, sample.args, sample.kwargs))
    torch.manual_seed(0)
    with torch.no_grad():
        return function(copied[0], *copied[1], **copied[2])


def difference(actual, expected):
    """Text, or None."""
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True, check_stride=False, **TOLERANCE)
    except AssertionError as error:
        return " ".join(str(error).split())
    except TypeError as error:
        raise Skip(f"the result cannot be compared: {error}")


def attempt(function, sample, expected):
    """What is wrong with a function's result, or None."""
    try:
        return difference(outcome(function, sample), expected)
    except Skip:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def check(op, function):
    """What differs from eager, or None."""
    if torch.float32 not in op.supported_dtypes("cpu"):
        raise Skip("no float32")
    if "empty" in op.name:
        raise Skip("undefined values")
    torch.manual_seed(0)
    samples = list(itertools.islice(op.sample_inputs("cpu", torch.float32), SAMPLES))
    for sample in samples:
        try:
            expected = outcome(op.op, sample)
        except Exception as error:
            raise Skip(f"eager: {type(error).__name__}")
        if attempt(op.op, sample, expected):
            raise Skip("eager does not repeat itself")
        found = attempt(torch.compile(function, backend="stoker"), sample, expected)
        if not found:
            continue
        torch._dynamo.reset()
        if attempt(torch.compile(function, backend="eager"), sample, expected):
            raise Skip("Dynamo does not do it with the backend eager either")
        return found
    return None


def attempt_all(wanted, ops, functions):
    for name in wanted:
        torch._dynamo.reset()
        try:
            if name not in ops:
                raise Skip("not in this PyTorch")
            found = check(ops[name], functions[name])
            result, why = ("failed", found) if found else ("passed", "")
        except Skip as skip:
            result, why = "skipped", str(skip)
        print(json.dumps({"op": name, "outcome": result, "why": why}), flush=True)


def main(arguments):
    wanted = [argument for argument in arguments if argument != "--shared"]
    ops = {re.sub(r"\W", "_", op.formatted_name): op for op in op_db}
    if "--shared" in arguments:
        functions = {name: shared_function(op) for name, op in ops.items()}
        return attempt_all(wanted or ops, ops, functions)
    with tempfile.TemporaryDirectory() as folder:
        return attempt_all(wanted or ops, ops, functions_of_their_own(ops, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
