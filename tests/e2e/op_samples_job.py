"""PyTorch's own samples of its operators, in one process: the stoker backend beside eager PyTorch.

usage: op_samples_job.py [--shared] [--gradients] [--dtype NAME] [--samples COUNT] [OPERATOR...]

OPERATOR is a name as PyTorch's tests print it, of word characters; without any, all of them run. Prints one JSON line for each:
{"op": name, "outcome": "passed" | "failed" | "skipped", "why": text, "fallbacks": [operators that PyTorch ran]}.
--shared calls all operators through one function, whose code says nothing about which operator it calls.
--gradients compares the gradients of the inputs too. --samples: of each operator, 2 by default, 0 for all.
"""

import argparse
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

# Results of values up to 9; sums of a few dozen of them. What stays inside a kernel is not rounded to bfloat16.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 5e-2}


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


def copy_of(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def gradients_of(result, inputs):
    """Of the inputs that take one, for gradients of the results that are the same in every call."""
    results = [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
    inputs = [x for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not results:
        return ()
    generator = torch.Generator().manual_seed(1)
    given = [torch.rand(x.shape, generator=generator).to(x.dtype) for x in results]
    return torch.autograd.grad(results, inputs, given, allow_unused=True)


def outcome(function, sample, gradients=False):
    """The result for a copy of a sample's tensors, which an operator may change in place; with the gradients."""
    copied = pytree.tree_map_only(torch.Tensor, copy_of, (sample.input, sample.args, sample.kwargs))
    torch.manual_seed(0)
    with torch.set_grad_enabled(gradients):
        result = function(copied[0], *copied[1], **copied[2])
        if not gradients:
            return result
        found = gradients_of(result, copied)
    return pytree.tree_map_only(torch.Tensor, torch.detach, (result, found))


def difference(actual, expected, near):
    """Text, or None."""
    try:
        torch.testing.assert_close(
            actual, expected, equal_nan=True, check_stride=False, rtol=near, atol=near)
    except AssertionError as error:
        return " ".join(str(error).split())
    except TypeError as error:
        raise Skip(f"the result cannot be compared: {error}")


def attempt(function, sample, expected, options):
    """What is wrong with a function's result, or None."""
    try:
        return difference(
            outcome(function, sample, options.gradients), expected, TOLERANCES[options.dtype])
    except Skip:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def check(op, function, options):
    """What differs from eager, or None."""
    dtype, gradients = options.dtype, options.gradients
    taken = op.supported_backward_dtypes("cpu") if gradients else op.supported_dtypes("cpu")
    if dtype not in taken or gradients and not op.supports_autograd:
        raise Skip(f"no {dtype}".replace("torch.", ""))
    if "empty" in op.name:
        raise Skip("undefined values")
    torch.manual_seed(0)
    samples = list(itertools.islice(
        op.sample_inputs("cpu", dtype, requires_grad=gradients), options.samples or None))
    for sample in samples:
        try:
            expected = outcome(op.op, sample, gradients)
        except Exception as error:
            raise Skip(f"eager: {type(error).__name__}")
        if attempt(op.op, sample, expected, options):
            raise Skip("eager does not repeat itself")
        found = attempt(torch.compile(function, backend="stoker"), sample, expected, options)
        if not found:
            continue
        torch._dynamo.reset()
        if attempt(torch.compile(function, backend="eager"), sample, expected, options):
            raise Skip("Dynamo does not do it with the backend eager either")
        return found
    return None


def attempt_all(wanted, ops, functions, options):
    from stoker import fallback_ops

    for name in wanted:
        torch._dynamo.reset()
        before = dict(fallback_ops())
        try:
            if name not in ops:
                raise Skip("not in this PyTorch")
            found = check(ops[name], functions[name], options)
            result, why = ("failed", found) if found else ("passed", "")
        except Skip as skip:
            result, why = "skipped", str(skip)
        fallbacks = [one for one, count in fallback_ops().items() if count != before.get(one, 0)]
        print(json.dumps({
            "op": name, "outcome": result, "why": why, "fallbacks": sorted(fallbacks)}), flush=True)


def named_operators():
    """{name of word characters: operator} of PyTorch's table."""
    return {re.sub(r"\W", "_", op.formatted_name): op for op in op_db}


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--dtype", type=lambda name: getattr(torch, name), default=torch.float32)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args(arguments)
    wanted = options.operators
    ops = named_operators()
    if options.shared:
        functions = {name: shared_function(op) for name, op in ops.items()}
        return attempt_all(wanted or ops, ops, functions, options)
    with tempfile.TemporaryDirectory() as folder:
        return attempt_all(wanted or ops, ops, functions_of_their_own(ops, folder), options)


if __name__ == "__main__":
    main(sys.argv[1:])
