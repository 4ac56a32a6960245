"""An index out of bounds raises what eager PyTorch raises, in every operator that takes indices."""

import re

import pytest
import torch
import torch.nn.functional as F

from lowered import lowered, run_program

X = torch.arange(20.0).reshape(5, 4)
ROWS = torch.ones(3, 4)

# Functions of three indices along a dim of 5 (of 4 for those named so), of X and of ROWS.
FUNCTIONS = {
    "index": lambda i, x, ones: x[i] * 2,
    "index dim 1 of 4": lambda i, x, ones: x[:, i] * 2,
    "index two": lambda i, x, ones: x[i, ones[:, 0].long()] * 2,
    "index scalar": lambda i, x, ones: torch.ops.aten.index(x, [i[1]]) * 2,
    "index_put": lambda i, x, ones: x.index_put((i,), ones),
    "index_put accumulate": lambda i, x, ones: x.index_put((i,), ones, accumulate=True),
    "index_select": lambda i, x, ones: x.index_select(0, i) * 2,
    "index_select dim 1 of 4": lambda i, x, ones: x.index_select(1, i) * 2,
    "index_select strided of 4": lambda i, x, ones: x.t().index_select(0, i) * 2,
    "gather": lambda i, x, ones: x.gather(0, i[:, None]) * 2,
    "gather dim 1 of 4": lambda i, x, ones: x[:3].gather(1, i[:, None]) * 2,
    "scatter": lambda i, x, ones: x.scatter(0, i[:, None], ones[:, :1]),
    "scatter value": lambda i, x, ones: x.scatter(0, i[:, None], 1.5),
    "scatter_add": lambda i, x, ones: x.scatter_add(0, i[:, None], ones[:, :1]),
    "scatter_reduce": lambda i, x, ones: x.scatter_reduce(0, i[:, None], ones[:, :1], "amax"),
    "scatter_reduce mean": lambda i, x, ones: x.scatter_reduce(0, i[:, None], ones[:, :1], "mean", include_self=False),
    "index_reduce": lambda i, x, ones: x.index_reduce(0, i, ones, "amax"),
    "take and a view": lambda i, x, ones: x[:, 0].take(i[None]).view(3) * 2,
    "put and views": lambda i, x, ones: (x[:, :1] * 2).put(i, ones[:, 0]).t().view(5, 1).t() * 2,
    "gather transposed": lambda i, x, ones: x.t().gather(1, i[None]).t().view(3) * 2,
    "take": lambda i, x, ones: x[:, 0].take(i) * 2,
    "put": lambda i, x, ones: (x[:, 0] * 2).put(i, ones[:, 0]),
    "embedding": lambda i, x, ones: F.embedding(i, x) * 2,
    "embedding i32": lambda i, x, ones: F.embedding(i.int(), x) * 2,
    "index_add": lambda i, x, ones: x.index_add(0, i, ones),
    "index_add vector": lambda i, x, ones: x[:, 0].index_add(0, i, ones[:, 0]),
    "index_copy": lambda i, x, ones: x.index_copy(0, i, ones),
    "index_fill": lambda i, x, ones: x.index_fill(0, i, 1.5),
    "nll_loss of 4": lambda i, x, ones: F.nll_loss(x[:3] * 2, i),
    "cross_entropy of 4": lambda i, x, ones: F.cross_entropy(x[:3], i),
    "cross_entropy ignoring of 4": lambda i, x, ones: F.cross_entropy(x[:3], i, ignore_index=7),
    "cross_entropy none of 4": lambda i, x, ones: F.cross_entropy(x[:3], i, reduction="none"),
    "cross_entropy weight of 4": lambda i, x, ones: F.cross_entropy(x[:3], i, x[0]),
    "nll_loss2d of 4": lambda i, x, ones: F.nll_loss(x[:3, :, None] * 2, i[:, None]),
    "index twice": lambda i, x, ones: x[i].sum() + (2 * x)[i].sum(),
    "index two sizes": lambda i, x, ones: x[i].sum() + x[:, i].sum(),
    "index and limits": lambda i, x, ones: torch.stack([x[i].sum().long(), i.amin().clamp(max=0), i.amax().clamp(min=0)]),
    "nothing to index": lambda i, x, ones: x[:0][i] + 1,
}


def outcome(function, *arguments):
    try:
        return function(*arguments), None
    except (IndexError, RuntimeError) as error:
        return None, error


@pytest.mark.parametrize("name", FUNCTIONS)
def test_index_out_of_bounds_raises_what_eager_raises(name):
    function = FUNCTIONS[name]
    size = 4 if name.endswith("of 4") else 0 if name == "nothing to index" else 5
    gm, program = lowered(function, torch.tensor([0, 1, 2]), X, ROWS)
    assert bool(program.fallbacks) == (size == 0)
    for index in (2, size - 1, size, 7, -1, -size, -size - 1, 2**40, -(2**40), 1):
        if "i32" in name and abs(index) > 2**31:
            continue
        indices = torch.tensor([0, index, 1])
        wanted, expected = outcome(function, indices, X, ROWS)
        results, error = outcome(run_program, gm, program, [indices, X, ROWS])
        if expected is None:
            assert error is None, index
            torch.testing.assert_close(results[0], wanted)
        else:
            assert isinstance(error, type(expected)), index
            # PyTorch counts dims after it moved the indexed ones to the front.
            wanted = {str(index), *re.findall(r"size (\d+)", str(expected))}
            assert size == 0 or wanted <= set(re.findall(r"-?\d+", str(error))), error


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["index_put", "index_put accumulate", "index_fill", "index_add", "index_copy", "put"])
def test_indices_that_are_no_integers_are_refused(name, dtype):
    """Of these types alone: a trace takes some of them."""
    indices, x, ones = torch.tensor([0.5, -2.7, 1.0], dtype=dtype), X.to(dtype), ROWS.to(dtype)
    wanted, expected = outcome(FUNCTIONS[name], indices, x, ones)
    assert wanted is None
    torch._dynamo.reset()
    compiled = torch.compile(FUNCTIONS[name], backend="stoker")
    for _ in range(2):
        result, error = outcome(compiled, indices, x, ones)
        assert result is None and isinstance(error, type(expected)), error


@pytest.mark.parametrize("function, good, bad", [
    (lambda m, x: x.masked_scatter(m, x[:1] * 2), [True, False, True, True], [True] * 5),
    (lambda p, x: F.binary_cross_entropy(p * 1, x[:, 0] / 20), [0.0, 1.0, 0.5], [0.5, 1.25, 0.5]),
    (lambda p, x: F.binary_cross_entropy(p * 1, x[:, 0] / 20), [0.0, 1.0, 0.5], [0.5, float("nan"), 0.5]),
    (lambda t, x: F.binary_cross_entropy(x[:3, 0] / 20, t * 1), [0.0, 1.0, 0.5], [0.5, 1.25, 0.5]),
    (lambda t, x: F.binary_cross_entropy(x[:3] / 20, t[:, None] * x[:3] / 9), [0.0, 1.0, 0.5], [0.5, -0.1, 0.5]),
    (lambda i, x: F.max_unpool2d(x[None, :2, :2] * 2, i.reshape(1, 2, 2), 2), [0, 3, 9, 15], [0, 3, 16, 15]),
    (lambda i, x: torch.searchsorted(x[:, 0].contiguous(), x, sorter=i) * 2, [0, 1, 2, 4, 3], [0, 1, 2, 3, 5]),
    (lambda i, x: torch.searchsorted(x[:, 0].contiguous(), 2.5, sorter=i) * 2, [0, 1, 2, 4, 3], [0, 1, -1, 3, 4]),
    (lambda i, x: torch.searchsorted(x, x, sorter=i[:4].repeat(5, 1)) * 2, [0, 1, 2, 3, 0], [0, 1, 2, 4, 0]),
    (lambda i, x: F.max_unpool1d(x[None, :2, 0] * 2, i[None, :2], 2) * 3, [0, 3, 0], [0, 4, 0]),
    (lambda m, x: x.masked_scatter(m, x[:1] * 2).view(4, 5).t() * 2, [True, False, True, True], [True] * 5),
], ids=["masked_scatter", "chances", "no chance", "target", "target below", "max_unpool", "sorter",
        "sorter of a number", "sorter of rows", "max_unpool of vectors", "masked_scatter and a view"])
def test_data_out_of_range_raises_what_eager_raises(function, good, bad):
    size = 5 if isinstance(good[0], bool) else len(good)
    good, bad = (torch.tensor(data + [False] * (size - len(data))) for data in (good, bad))
    x = X[:size] if not good.dtype == torch.bool else X
    good, bad = (data[:, None].expand(5, 4) if data.dtype == torch.bool else data for data in (good, bad))
    gm, program = lowered(function, good, x)
    assert not program.fallbacks
    wanted, expected = outcome(function, good, x)
    results, error = outcome(run_program, gm, program, [good, x])
    assert (error is None) == (expected is None)
    if expected is None:
        torch.testing.assert_close(results[0], wanted)
    _, expected = outcome(function, bad, x)
    _, error = outcome(run_program, gm, program, [bad, x])
    assert isinstance(error, type(expected)) and str(expected).splitlines()[0][:40] in str(error)


DIVISIONS = {
    "floor_divide": lambda d, x: 12 // d,
    "floor_divide i32": lambda d, x: torch.arange(3, dtype=torch.int32) // d.int(),
    "div trunc": lambda d, x: torch.div(x[:3, 0].long() - 5, d, rounding_mode="trunc") * 2,
    "remainder": lambda d, x: ((x[:3, 0].long() - 5) % d) * 2,
    "remainder u8": lambda d, x: 7 % d.to(torch.uint8),
    "fmod": lambda d, x: torch.fmod(x[:3, 0].long() - 5, d),
    "broadcast": lambda d, x: x.long() // d[:, None, None],
    "scalar": lambda d, x: d // 0,
    "nothing": lambda d, x: x[:0].long()[:, :1] // d,
    "float": lambda d, x: x // d[1],
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_divided_by_zero_raise_what_eager_raises(name):
    function = DIVISIONS[name]
    gm, program = lowered(function, torch.tensor([3, 1, 2]), X)
    assert not program.fallbacks
    for divisors in ([3, 1, 2], [-7, 5, -1], [3, 0, 2]):
        divisors = torch.tensor(divisors)
        wanted, expected = outcome(function, divisors, X)
        results, error = outcome(run_program, gm, program, [divisors, X])
        if expected is None:
            assert error is None
            torch.testing.assert_close(results[0], wanted, equal_nan=True)
        else:
            assert type(error) is type(expected) and str(error) == str(expected)


def test_known_divisors_are_not_checked():
    gm, program = lowered(lambda x: (x.long() // 3, x.long() % torch.arange(1, 5)), X)
    assert [step.checks for step in program.steps] == [()]


def test_nothing_is_checked_where_nothing_is_indexed():
    gm, program = lowered(lambda x: (x * 2, x[1:] + 1), X)
    assert [step.checks for step in program.steps] == [()]


def test_indices_that_shapes_decide_are_checked_once():
    gm, program = lowered(lambda x: x[torch.arange(0, 5, 2)] * 2, X)
    assert [step.checks for step in program.steps] == [()]


def test_indices_of_what_nobody_needs_are_not_checked():
    gm, program = lowered(lambda i, x: (x[i].sum(), i * 2)[1], torch.tensor([0, 1]), X)
    assert [step.checks for step in program.steps] == [()]
