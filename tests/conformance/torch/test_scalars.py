"""Python numbers and tensors of no dims beside tensors of every type: what eager gives, to the last bit where a result is
rounded once."""

import math

import pytest
import torch

DTYPES = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8, torch.int8, torch.int64, torch.bool)
# Exact in some types and rounded in others; beyond what narrow ones hold; infinite.
NUMBERS = (
    0, 1, 3, -1, -5, 300, 2**40, True, 0.5, 0.1, -2.3, 1e-8, 1e5, 1e39, 1e-46, -0.0, math.inf, -math.inf, math.nan)

OPERATIONS = {
    "add": lambda x, s: x + s, "sub": lambda x, s: x - s, "rsub": lambda x, s: s - x, "mul": lambda x, s: x * s,
    "mul_reversed": lambda x, s: s * x, "div": lambda x, s: x / s,
    "div_trunc": lambda x, s: torch.div(x, s, rounding_mode="trunc"),
    "div_floor": lambda x, s: torch.div(x, s, rounding_mode="floor"),
    "remainder": torch.remainder, "fmod": torch.fmod,
    "clamp_min": lambda x, s: x.clamp(min=s), "clamp_max": lambda x, s: x.clamp(max=s),
    "eq": lambda x, s: x == s, "lt": lambda x, s: x < s, "ge": lambda x, s: x >= s,
    "where": lambda x, s: torch.where(x > 0, x, s), "masked_fill": lambda x, s: x.masked_fill(x > 0, s),
    "full_like": lambda x, s: torch.full_like(x, s), "new_full": lambda x, s: x.new_full((3,), s),
    "fill": lambda x, s: x.clone().fill_(s), "lerp": lambda x, s: torch.lerp(x, x * 2, s),
    "bits": lambda x, s: x & s,
}
# Read in a wider type, too, these show what a constant is made of: nothing was computed.
CHOOSING = ("where", "masked_fill", "full_like", "new_full", "fill", "clamp_min", "clamp_max")
_WIDER = {torch.bool: torch.int32, torch.float16: torch.float32, torch.bfloat16: torch.float32}


def elements(dtype):
    if dtype == torch.bool:
        return torch.tensor([True, False, True, True, False])
    if dtype.is_floating_point:
        return torch.tensor([1.0, -2.5, 0.0, 0.3, 1000.0, -7.0, 30000.0]).to(dtype)
    return torch.tensor([1, 0, 3, 100, 7, 120]).to(dtype)


def read(result, name):
    wider = _WIDER.get(result.dtype) if name in CHOOSING or result.dtype == torch.bool else None
    return (result,) if wider is None else (result, result.to(wider))


def taken(operation, x, operands):
    """The operands that eager takes."""
    found = []
    for operand in operands:
        try:
            operation(x, operand)
        except Exception:
            continue
        found.append(operand)
    return found


def require_equal(run, x, name):
    torch._dynamo.reset()
    expected = run(x.clone())
    try:
        found = torch.compile(run, backend="stoker")(x.clone())
    except Exception:
        with pytest.raises(Exception):  # What a trace does not take.
            torch.compile(run, backend="aot_eager")(x.clone())
        return
    exactly = {} if name == "lerp" else {"rtol": 0, "atol": 0}
    torch.testing.assert_close(found, expected, equal_nan=True, **exactly)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers(name, dtype):
    operation, x = OPERATIONS[name], elements(dtype)
    numbers = taken(operation, x, NUMBERS)

    def run(x):
        return [read(operation(x, number), name) for number in numbers]

    if numbers:
        require_equal(run, x, name)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"full_like", "new_full", "fill", "clamp_min", "clamp_max"}))
def test_tensors_of_no_dims(name, dtype):
    operation, x = OPERATIONS[name], elements(dtype)
    operands = taken(operation, x, [
        torch.tensor(number, dtype=other) for number in (0.1, 3, -2.3)
        for other in (torch.float64, torch.float32, torch.bfloat16, torch.int32, torch.bool)])

    def run(x):
        return [read(operation(x, operand), name) for operand in operands]

    if operands:
        require_equal(run, x, name)
