"""PyTorch's own samples of its operators, in one process: the stoker backend beside eager PyTorch.

usage: op_samples_job.py [--shared] [--dynamic] [--gradients] [--dtype NAME] [--samples COUNT] [--threads COUNT]
                         [OPERATOR...]

OPERATOR is a name as PyTorch's tests print it, of word characters; without any, all of them run. Prints one JSON line for each:
{"op": name, "outcome": "passed" | "failed" | "skipped", "why": text, "fallbacks": {operator that PyTorch ran: number of
the first sample where it did}, "hits": number of warm starts}.
--shared calls all operators through one function, whose code says nothing about which operator it calls.
--dynamic compiles for sizes that are symbols from the first call on.
--gradients compares the gradients of the inputs too. --samples: so many of each operator, spread over all; 2 by
default, 0 for all. --threads: of PyTorch, in place of its own number.
"""

import argparse
import importlib
import json
import math
import pathlib
import re
import sys
import tempfile
import types

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

import stoker

# Results of values up to 9; sums of a few dozen of them. What stays inside a kernel is not rounded to bfloat16.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 5e-2}


MAX_WHY = 400  # Characters of an error.

# Eager's own errors: beside mpmath's values, its asymptotic series lose digits; the gradient of a product of reflections is
# off by some 1e-4 where its elements are in the hundreds (PyTorch's tests of AOTAutograd allow 4e-3 there); that of a
# normalized number is zero, and eager's a difference of two, rounded to 8 bits: off by 0.125 in one of the samples.
INEXACT_IN_EAGER = {
    torch.float64: {f"special.bessel_{kind}": 1e-6 for kind in ("j0", "j1", "y0", "y1")},
    torch.float32: {"linalg.householder_product": 3e-4},
    torch.bfloat16: {"nn.functional.normalize": 0.07},
}


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
    """Of the inputs that take one, for gradients of the results that are the same in every call and dtype."""
    results = [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
    inputs = [x for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not results:
        return ()
    generator = torch.Generator().manual_seed(1)
    given = [torch.rand(x.shape, generator=generator).bfloat16().to(x.dtype) for x in results]
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


def attempt(function, sample, expected, options, name=""):
    """(the result, what is wrong with it); both may be None."""
    near = max(TOLERANCES[options.dtype], INEXACT_IN_EAGER.get(options.dtype, {}).get(name, 0))
    try:
        actual = outcome(function, sample, options.gradients)
        return actual, difference(actual, expected, near)
    except Skip:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_WHY]


def widened(value):
    return value.detach().double().requires_grad_(value.requires_grad) if value.is_floating_point() else value


def errs_no_more(actual, expected, op, sample, options):
    """Whether no element of a result is further from what eager gives in float64 than eager's own worst one: its results
    in a narrower type may be rounded many times."""
    if options.dtype is torch.float64 or actual is None:
        return False
    wide = types.SimpleNamespace(**dict(zip(("input", "args", "kwargs"), pytree.tree_map_only(
        torch.Tensor, widened, (sample.input, sample.args, sample.kwargs)))))
    try:
        exact = outcome(op.op, wide, options.gradients)
        results = [
            [x.to(torch.promote_types(x.dtype, torch.float64))
             for x in pytree.tree_leaves(each) if isinstance(x, torch.Tensor)]
            for each in (actual, expected, exact)]
        return all(worst_error(a, c) <= worst_error(b, c) for a, b, c in zip(*results, strict=True))
    except Exception:
        return False


def worst_error(result, exact):
    errors = (result - exact).abs().masked_fill((result == exact) | result.isnan() & exact.isnan(), 0.0)
    return errors.nan_to_num(nan=math.inf, posinf=math.inf).max().item() if errors.numel() else 0.0


def spread(count, wanted):
    """Places of so many samples, from the first to the last; of all for 0."""
    if not wanted or wanted >= count:
        return range(count)
    return [place * (count - 1) // max(1, wanted - 1) for place in range(wanted)]


def check(op, function, options, fell_back):
    """Compares every sample that eager PyTorch and Dynamo can do. What differs from eager, or None; adds to `fell_back`
    {operator that PyTorch ran: number of the first sample where it did}."""
    dtype, gradients = options.dtype, options.gradients
    taken = op.supported_backward_dtypes("cpu") if gradients else op.supported_dtypes("cpu")
    if dtype not in taken or gradients and not op.supports_autograd:
        raise Skip(f"no {dtype}".replace("torch.", ""))
    if "empty" in op.name:
        raise Skip("undefined values")
    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=gradients))
    compared, skip = 0, None
    for nth, place in enumerate(spread(len(samples), options.samples)):
        # Dynamo gives up a function of many forms: two samples have one, so that the second may have symbolic sizes.
        if nth % 2 == 0:
            torch._dynamo.reset()
        try:
            found = check_sample(op, function, samples[place], options, place, fell_back)
        except Skip as why:
            skip = why
            continue
        compared += 1
        if found:
            return f"sample {place}: {found}"
    if not compared:
        raise skip or Skip("no samples")
    return None


def check_sample(op, function, sample, options, place, fell_back):
    try:
        expected = outcome(op.op, sample, options.gradients)
    except Exception as error:
        raise Skip(f"eager: {type(error).__name__}")
    if attempt(op.op, sample, expected, options)[1]:
        raise Skip("eager does not repeat itself")
    before = stoker.fallback_ops()
    compiled = torch.compile(function, backend="stoker", dynamic=options.dynamic or None)
    actual, found = attempt(compiled, sample, expected, options, op.name)
    for operator, count in stoker.fallback_ops().items():
        if count != before.get(operator, 0):
            fell_back.setdefault(operator, place)
    if not found or errs_no_more(actual, expected, op, sample, options):
        return None
    for dynamic in (None, True):  # What came before may have made sizes symbolic.
        torch._dynamo.reset()
        if attempt(torch.compile(function, backend="eager", dynamic=dynamic), sample, expected, options)[1]:
            raise Skip("Dynamo does not do it with the backend eager either")
    return found


def attempt_all(wanted, ops, functions, options):
    for name in wanted:
        torch._dynamo.reset()
        fell_back, hits = {}, warm_starts()
        try:
            if name not in ops:
                raise Skip("not in this PyTorch")
            found = check(ops[name], functions[name], options, fell_back)
            result, why = ("failed", found) if found else ("passed", "")
        except Skip as skip:
            result, why = "skipped", str(skip)
        print(json.dumps({
            "op": name, "outcome": result, "why": why, "fallbacks": fell_back, "hits": warm_starts() - hits}), flush=True)


def warm_starts():
    return stoker.counters().get("captures.hit", 0)


def named_operators():
    """{name of word characters: operator} of PyTorch's table."""
    return {re.sub(r"\W", "_", op.formatted_name): op for op in op_db}


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--dtype", type=lambda name: getattr(torch, name), default=torch.float32)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    wanted = options.operators
    ops = named_operators()
    if options.shared:
        functions = {name: shared_function(op) for name, op in ops.items()}
        return attempt_all(wanted or ops, ops, functions, options)
    with tempfile.TemporaryDirectory() as folder:
        return attempt_all(wanted or ops, ops, functions_of_their_own(ops, folder), options)


if __name__ == "__main__":
    main(sys.argv[1:])
