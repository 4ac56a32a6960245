"""Numbers and results at the limits of a type: what eager refuses is refused, and what it holds is held."""

import functools

import pytest
import torch
import torch.nn.functional as F

X, WHOLE = torch.tensor([1.0, -2.0]), torch.tensor([1, -2])

REFUSED = {
    "masked_fill_f16": lambda x, y, n: x.half().masked_fill(x > 0, 70000.0),
    "power_f16": lambda x, y, n: x.half() ** 70000.0,
    "power_bf16": lambda x, y, n: x.bfloat16().abs() ** n,
    "masked_fill_i32": lambda x, y, n: y.int().masked_fill(y > 0, 2**40),
    "masked_fill_u8": lambda x, y, n: y.to(torch.uint8).masked_fill(y > 0, 300),
    "masked_fill": lambda x, y, n: x.masked_fill(x > 0, n),
    "pad": lambda x, y, n: F.pad(x, (1, 1), value=n),
    "scatter": lambda x, y, n: x.scatter(0, torch.tensor([0]), n),
    "index_fill": lambda x, y, n: x.index_fill(0, torch.tensor([0]), n),
    "addmm": lambda x, y, n: torch.addmm(x, torch.ones(2, 2), torch.ones(2, 2), alpha=n),
    "addcmul": lambda x, y, n: torch.addcmul(x, x, x, value=n),
    "softplus": lambda x, y, n: F.softplus(x, n),
    "threshold": lambda x, y, n: F.threshold(x, n, 0.0),
    "leaky_relu": lambda x, y, n: F.leaky_relu(x, n),
    "full": lambda x, y, n: torch.full((2,), n),
    "alpha_of_integers": lambda x, y, n: y.add(y, alpha=2.5),
    "alpha": lambda x, y, n: x.add(x, alpha=n),
}
ACCEPTED = {
    "product": lambda x, y, n: x * n,
    "sum": lambda x, y, n: x + n,
    "compared": lambda x, y, n: x > n,
    "minus_one_of_u8": lambda x, y, n: y.to(torch.uint8).masked_fill(y > 0, -1),
    "infinite": lambda x, y, n: x.masked_fill(x > 0, -float("inf")),
    "made": lambda x, y, n: torch.maximum(x, torch.tensor(n)),
    "zero": lambda x, y, n: F.pad(x, (1, 1), value=-0.0).copysign(torch.ones(4)) + F.pad(x, (1, 1), value=-0.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_that_a_type_does_not_hold_are_refused(name):
    with pytest.raises(RuntimeError):
        REFUSED[name](X, WHOLE, 1e39)
    with pytest.raises(RuntimeError):
        torch.compile(REFUSED[name], backend="stoker", dynamic=True)(X, WHOLE, 1e39)


@pytest.mark.parametrize("name", [name for name in REFUSED if not name.endswith(("_f16", "_i32", "_u8", "_integers"))])
def test_and_taken_where_it_does(name):
    function = torch.compile(REFUSED[name], backend="stoker", dynamic=True)
    for number in (1e30, -2.5):
        torch.testing.assert_close(function(X, WHOLE, number), REFUSED[name](X, WHOLE, number))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ACCEPTED)
def test_operands_are_of_any_size(name, dynamic):
    actual = torch.compile(ACCEPTED[name], backend="stoker", dynamic=dynamic)(X, WHOLE, 1e39)
    expected = ACCEPTED[name](X, WHOLE, 1e39)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert torch.equal(actual.signbit(), expected.signbit())


@pytest.mark.parametrize("scale", [1e-40, 1e-30, 1e-21, 1.0, 1e30])
@pytest.mark.parametrize("dim", [0, -1, None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_deviations_of_numbers_whose_squares_f32_does_not_hold(scale, dim, dtype):
    torch.manual_seed(0)
    x = (torch.randn(7, 33, dtype=torch.float64) * scale).to(dtype)
    for of in (torch.std, torch.std_mean):
        actual = torch.compile(functools.partial(of, dim=dim), backend="stoker")(x)
        torch.testing.assert_close(actual, of(x, dim=dim), atol=0 if of is torch.std else None, rtol=None if of is not torch.std else 1e-2 if dtype is torch.bfloat16 else 3e-7)


@pytest.mark.parametrize("order", [1, 2, 3, 0.5, -2])
def test_a_norm_of_one_number_is_its_size(order):
    x = torch.tensor([[1.1e30], [-1e-30], [3.0], [1e-42], [float("inf")]])
    function = torch.compile(lambda x: torch.linalg.vector_norm(x, order, -1), backend="stoker")
    assert torch.equal(function(x).reshape(-1), x.abs()[:, 0])  # PyTorch 2.11 traces another shape.
    assert torch.equal(torch.compile(lambda x: F.normalize(x, dim=-1), backend="stoker")(x[:4]), F.normalize(x[:4], dim=-1))


def test_a_mean_of_one_infinity_is_it():
    x = torch.tensor([[float("inf")], [1.0]])
    actual = torch.compile(lambda x: torch.var_mean(x, -1, correction=0), backend="stoker")(x)
    torch.testing.assert_close(actual, torch.var_mean(x, -1, correction=0), equal_nan=True)


MOVES = {
    "abs": torch.abs, "neg": torch.neg, "relu": F.relu, "clamp": lambda x: x.clamp(-1, 0.5), "hardtanh": F.hardtanh,
    "where": lambda x: torch.where(x > 0, x, -x), "masked_fill": lambda x: x.masked_fill(x < 0, 3.0),
    "maximum": lambda x: torch.maximum(x, -x), "copysign": lambda x: torch.copysign(x, -x), "cat": lambda x: torch.cat([x, -x], -1),
    "pad": lambda x: F.pad(x, (3, 2)), "transposed": lambda x: x.mT.contiguous(), "flip": lambda x: x.flip(-1),
    "cummax": lambda x: torch.cummax(x, -1), "cummin": lambda x: torch.cummin(x, 0), "sort": lambda x: torch.sort(x, -1),
    "gathered": lambda x: x[torch.tensor([2, 0, 1])], "max_pool": lambda x: F.max_pool1d(x, 3, 1, 1),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("name", MOVES)
def test_subnormal_numbers_that_are_only_moved_stay(name, dtype):
    tiny = torch.finfo(dtype).tiny
    numbers = torch.tensor([0.0, tiny / 8, -tiny / 16, tiny / 2, -0.0, tiny * 0.9, 1.0, -tiny * 2], dtype=torch.float64)
    x = numbers.to(dtype).repeat(3, 11)[:, :83].contiguous()
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(MOVES[name], backend="stoker")(x), MOVES[name](x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("function", [torch.sin, torch.tan, torch.asin, torch.atan], ids=lambda function: function.__name__)
def test_what_is_read_before_it_is_rounded_is_the_nearest_float(function, dtype):
    """Right for being rounded once more, it would be none: tiny numbers are equal to their sine."""
    x = torch.full((40,), 1e-4 if dtype == torch.float16 else 1e-7, dtype=dtype)
    torch._dynamo.reset()
    result = torch.compile(lambda x: (function(x).float() - x.float(), function(x)), backend="stoker")(x)
    assert torch.all(result[0].abs() <= x.float() ** 3) and torch.equal(result[1], function(x))


CHOICES = {
    "both": lambda x: (torch.where(x > 0, 0.0, x), torch.where(x > 0, x, 0.0)), "smaller": lambda x: torch.where(x > 0, 0.0, x),
    "larger": lambda x: torch.where(x < 0, x, -0.0), "or equal": lambda x: (torch.where(x >= 0, 0.0, x), torch.where(x <= 0, x, 0.0)),
    "of its negative": lambda x: torch.where(x > -x, -x, x), "compared as f32": lambda x: torch.where(x.float() > 0, 0.0, x),
    "threshold": lambda x: F.threshold(x, 0.0, -0.0), "hardshrink": lambda x: F.hardshrink(x, 0.0)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", CHOICES)
def test_a_zero_that_is_chosen_keeps_its_sign(name, dtype):
    x = torch.tensor([-0.0, 0.0, 1.0, -1.0, float("nan"), float("inf"), 6e-8, -6e-8], dtype=dtype).repeat(9)
    torch._dynamo.reset()
    actual, expected = torch.compile(CHOICES[name], backend="stoker")(x), CHOICES[name](x)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (actual, expected))):
        assert torch.equal(one.signbit() | one.isnan(), other.signbit() | other.isnan())
