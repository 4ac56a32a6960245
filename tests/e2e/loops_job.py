"""Loops that PyTorch hands to a compiler as graphs, beside the same in Python. Argument: a scenario. Prints {"wrong": [...],
"fallbacks": ..., "segments": of each compile, "counters": ...}."""

import json
import sys

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import stoker

wrong = []


def check(what, actual, expected, tolerance):
    actual, expected = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (actual, expected))
    if len(actual) != len(expected):
        wrong.append(f"{what}: {len(actual)} results, not {len(expected)}")
    for place, (one, other) in enumerate(zip(actual, expected)):
        if one.shape != other.shape or one.dtype != other.dtype or one.stride() != other.stride():
            wrong.append(f"{what} {place}: {one.dtype} {list(one.shape)} {one.stride()}")
        elif not torch.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            wrong.append(f"{what} {place}: off by {(one.double() - other.double()).abs().max().item()}")


def in_python(condition, body, carried):
    while condition(*carried):
        carried = body(*carried)
    return carried


def scanned_in_python(step, carried, rows):
    stacked = []
    for place in range(len(rows)):
        carried, row = step(carried, rows[place])
        stacked.append(row)
    return carried, torch.stack(stacked)


torch.manual_seed(0)
WEIGHT = torch.randn(16, 16) / 4
TABLE = torch.randn(5, 16)
FOLLOWING = torch.tensor([0, 3, 1, 0, 4, 9, -8])


def count(trips, x):
    return while_loop(
        lambda i, x: i < trips, lambda i, x: (i + 1, torch.tanh(x @ WEIGHT)), (torch.zeros((), dtype=torch.int64), x))


def converge(x):
    """Until nothing changes much: a condition of floats, several of which are carried."""
    def condition(x, change):
        return change > 1e-3

    def body(x, change):
        y = torch.cos(x)
        return y, (y - x).abs().max()

    return while_loop(condition, body, (x, torch.ones(())))


def swap(trips, a, b):
    return while_loop(
        lambda i, a, b: i > 0, lambda i, a, b: (i - 1, b.clone(), (a + 1).clone()), (trips, a, b))


def nested(trips, x):
    def body(i, x):
        def inner(j, x):
            return j + 1, torch.sin(x) + x.mean()

        _, y = while_loop(lambda j, x: j < i, inner, (torch.zeros((), dtype=torch.int64), x))
        return i + 1, y * 0.5

    return while_loop(lambda i, x: i < trips, body, (torch.zeros((), dtype=torch.int64), x))


def walk(place, following):
    """Along a list, to its end: a place that is none raises, and ends the loop."""
    def step(place, i, x):
        return following[place], i + 1, x + TABLE[i % 5] * place

    return while_loop(
        lambda place, i, x: (place != 0).all(), step, (place, torch.zeros(1, dtype=torch.int64), torch.zeros(1, 16)))


def branches(x):
    """The second looks up, and the first branches again."""
    def again(x):
        return branch(x[0, 0] > 0.5, lambda x: (x.sin(), x.sum(0)), lambda x: (x @ WEIGHT, x.amax(0)), (x,))

    return branch(x.sum() > 0, again, lambda x: (TABLE[x[:, 0].abs().long()] - x, x[0] * 2), (x,))


def branch(predicate, chosen, otherwise, operands):
    return torch.cond(predicate, chosen, otherwise, operands)


def branch_in_python(predicate, chosen, otherwise, operands):
    return (chosen if predicate else otherwise)(*operands)


def shuffled(trips, x):
    return while_loop(
        lambda i, x: i < trips, lambda i, x: (i + 1, x[torch.tensor([2, 0, 1])] * torch.tensor([[0.5], [1.0], [2.0]])),
        (torch.zeros((), dtype=torch.int64), x))


def recurrent(h, x):
    def step(h, x):
        h = torch.tanh(h @ WEIGHT + x)
        return h, h * 2

    return scan(step, h, x)


def number(value):
    return torch.tensor(value)


def in_their_place(function, *arguments):
    """With loops in Python where PyTorch's stand."""
    theirs = while_loop, scan, branch
    globals().update(while_loop=in_python, scan=scanned_in_python, branch=branch_in_python)
    try:
        return function(*arguments)
    finally:
        globals().update(while_loop=theirs[0], scan=theirs[1], branch=theirs[2])


def beside(what, function, calls, tolerance=1e-5, **settings):
    expected = [in_their_place(function, *arguments) for arguments in calls]
    torch._dynamo.reset()  # Each beside() has all the compiles that Dynamo grants a function.
    run = torch.compile(function, backend="stoker", **settings)
    for place, arguments in enumerate(calls):
        check(f"{what} {place}", run(*arguments), expected[place], tolerance)


def whiles():
    x = torch.randn(4, 16)
    beside("count", count, [(number(trips), x) for trips in (3, 0, 1, 7)])
    beside("converge", converge, [(x,), (x * 0,), (x * float("nan"),)])
    beside("swap", swap, [(number(trips), x, x * 2) for trips in (0, 1, 2, 5)])
    beside("nested", nested, [(number(trips), x) for trips in (0, 1, 2, 4)])
    beside("walk", walk, [(torch.tensor([place]), FOLLOWING[:5]) for place in (0, 1, 2)])
    for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8):
        a = torch.randint(0, 20, (3, 7)).to(dtype)
        beside(f"swap {dtype}", swap, [(number(3), a, a * 2)])
    beside("layouts", swap, [(number(2), torch.randn(5, 4).t(), torch.randn(5, 4).t())])


def lost():
    run = torch.compile(walk, backend="stoker")
    for place, bad in ((5, 9), (6, -8)):
        try:
            wrong.append(f"a walk to {bad}: {run(torch.tensor([place]), FOLLOWING)}")
        except IndexError as error:
            if str(bad) not in str(error):
                wrong.append(f"a walk to {bad}: {error}")


def scans():
    h, x = torch.randn(4, 16), torch.randn(12, 4, 16)
    beside("recurrent", recurrent, [(h, x), (h * 2, x / 2)])
    beside("branches", branches, [(torch.rand(4, 16) * scale,) for scale in (1, 0.4, -1, -4)])


def training():
    """Through a scan, as PyTorch differentiates it."""
    def results(run):
        h, x = (torch.randn(shape, generator=torch.Generator().manual_seed(3)).requires_grad_()
                for shape in ((4, 16), (6, 4, 16)))
        last, stacked = run(h, x)
        (last.sum() + stacked.square().sum()).backward()
        return last.detach(), stacked.detach(), h.grad, x.grad

    expected = in_their_place(results, recurrent)
    check("training", results(torch.compile(recurrent, backend="stoker")), expected, 1e-4)


def sizes():
    """Each set of sizes has its program: a loop takes no sizes that vary. And constants of a body, and bad indices."""
    lost()
    beside("shuffled", shuffled, [(number(trips), torch.randn(3, 4)) for trips in (0, 1, 5)])
    beside("sizes", count, [(number(2), torch.randn(rows, 16)) for rows in (2, 3, 9)], dynamic=True)


def refused():
    """What a body calls that has no kernel keeps the loop with PyTorch, by name."""
    def power(trips, x):
        return while_loop(
            lambda i, x: i < trips, lambda i, x: (i + 1, torch.linalg.matrix_exp(x) / 4),
            (torch.zeros((), dtype=torch.int64), x))

    beside("exponential", power, [(number(2), torch.eye(4))])


def main(scenario):
    globals()[scenario]()
    print(json.dumps({
        "wrong": wrong, "fallbacks": stoker.fallback_ops(),
        "segments": [compile["segments"] for compile in stoker.compiles()], "counters": stoker.counters()}))


if __name__ == "__main__":
    main(sys.argv[1])
