"""torch.func._random: what is drawn from a key is what eager PyTorch draws, to the bit but for the normal distribution."""

import pytest
import torch

from lowered import lowered, run_program

random = pytest.importorskip("torch.func._random", reason="This PyTorch has no generator without a state.")

KEY = torch.tensor([0x299F31D0A4093822, 5], dtype=torch.uint64)
LAST = torch.tensor([2**64 - 1, 2**64 - 2], dtype=torch.uint64)  # Its counter wraps around.
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

EXACT = {
    "bits": [lambda key, dtype=dtype: random.bits(key, (3, 7), dtype=dtype) for dtype in INTEGERS],
    "of the default range": [lambda key, dtype=dtype: random.randint(key, (9,), dtype=dtype) for dtype in INTEGERS],
    "of a range": [lambda key, dtype=dtype: random.randint(key, (9,), low=3, high=103, dtype=dtype) for dtype in INTEGERS],
    "of ranges of 64 bits": [
        lambda key, low=low, high=high: random.randint(key, (64,), low=low, high=high, dtype=torch.int64)
        for low, high in (
            (-5, 7), (-2**62, 2**62 - 1), (-2**62, 2**62), (-2**62 - 9, 2**62), (-2**63, 2**63 - 1), (-2**63, 9))],
    "uniform": [lambda key, dtype=dtype: random.uniform(key, (5, 3), dtype=dtype) for dtype in FLOATS],
    "nothing": [lambda key: random.uniform(key, (0, 3))],
    "one": [lambda key: random.uniform(key, ()), lambda key: random.bits(key, ())],
    "keys": [
        lambda key: random.split(key, 3), lambda key: random.fold_in(key, 2), lambda key: random.fold_in(key, -1),
        lambda key: random.uniform(random.split(key)[1], (4,)), lambda key: random.bits(random.split(key, 3)[1:, :][1], (4,)),
        lambda key: random.bits(random.split(key, 4).view(2, 2, 2)[1].unbind()[1], (4,))],
}


def checked(function, *arguments):
    """(what eager gives, what the lowered program gives)"""
    gm, program = lowered(function, *arguments)
    assert not program.fallbacks
    return function(*arguments), run_program(gm, program, arguments)[0]


@pytest.mark.parametrize("key", (KEY, LAST), ids=("key", "last"))
@pytest.mark.parametrize("name", EXACT)
def test_same_bits_as_eager(name, key):
    for function in EXACT[name]:
        expected, result = checked(function, key)
        assert result.dtype == expected.dtype and torch.equal(result, expected)


def test_keys_that_a_tensor_folds_in():
    step = torch.tensor(2**64 - 3, dtype=torch.uint64)
    expected, result = checked(lambda key, data: random.fold_in(key, data), KEY, step)
    assert torch.equal(result, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_between_bounds(dtype):
    """A product and a sum, each rounded once."""
    expected, result = checked(lambda key: random.uniform(key, (101,), low=-3.3, high=5.7, dtype=dtype), KEY)
    torch.testing.assert_close(result, expected)
    assert result.min() >= -3.4 and result.max() <= 5.8


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ((), (1,), (2, 3), (7, 11)))
def test_normal(shape, dtype):
    expected, result = checked(lambda key: random.normal(key, shape, mean=0.5, std=2.0, dtype=dtype), LAST)
    torch.testing.assert_close(result, expected)


def test_batch_of_keys_is_left_to_pytorch():
    keys = random.split(KEY, 3)[:, None]
    gm, program = lowered(lambda keys: random.uniform(keys, (3, 4)) * 2, keys)
    assert program.fallbacks == {"aten._philox_uniform.default": "a batch of keys"}
    assert torch.equal(run_program(gm, program, [keys])[0], random.uniform(keys, (3, 4)) * 2)


def test_arithmetic_on_keys_is_left_to_pytorch():
    """What graphs have of uint64 is the bits alone."""
    gm, program = lowered(lambda key: key.to(torch.float64) * 2.0, LAST)
    assert list(program.fallbacks.values()) == ["a tensor of torch.uint64"]
    assert torch.equal(run_program(gm, program, [LAST])[0], LAST.to(torch.float64) * 2.0)
