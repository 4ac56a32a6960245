"""State of PyTorch that changes what eager gives: compiled graphs give the same."""

import pytest
import torch


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("fills", [True, False])
def test_uninitialized_memory_is_filled_where_pytorch_fills_it(deterministic, fills):
    def made(x):
        return (
            x * 2, torch.empty(3), torch.empty_like(x), x.new_empty(2) + 1, torch.empty(2, dtype=torch.int32),
            torch.empty_strided((2,), (1,)))

    x = torch.ones(3)
    torch.utils.deterministic.fill_uninitialized_memory = fills
    try:
        found, expected = torch.compile(made, backend="stoker")(x), made(x)
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
    assert [(part.shape, part.dtype) for part in found] == [(part.shape, part.dtype) for part in expected]
    if fills:
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_an_inference_tensor_that_refuses_an_update_stops_what_comes_after():
    def updates(x, y):
        x.fill_(3.0)
        y.zero_()
        return x - y

    with torch.inference_mode():
        x = torch.ones(4)
    y = torch.ones(4)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        torch.compile(updates, backend="stoker")(x, y)
    assert torch.equal(y, torch.ones(4))
    with torch.inference_mode():
        assert torch.equal(torch.compile(updates, backend="stoker")(x, y), torch.full((4,), 3.0))
    assert torch.equal(y, torch.zeros(4)) and torch.equal(x, torch.full((4,), 3.0))
