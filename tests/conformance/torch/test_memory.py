"""Tensors whose storage holds less than they have elements."""

import pytest
import torch


@pytest.mark.parametrize("size", [0, 64])
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("which", ["weight", "input", "transposed"])
def test_memory_that_was_taken_away_is_not_read(which, gradients, size):
    """Eager raises, too, in a view of it."""
    linear = torch.nn.Linear(16, 16)
    compiled = torch.compile(lambda x: linear(x.t()), backend="stoker")
    x = torch.randn(16, 16)
    given = x.t().contiguous().t() if which == "transposed" else x
    taken = linear.weight if which == "weight" else given
    with torch.set_grad_enabled(gradients):
        for _ in range(2):
            torch.testing.assert_close(compiled(given), linear(given.t()))
        kept = taken.detach().clone()
        taken.untyped_storage().resize_(size)
        with pytest.raises(RuntimeError, match=f"out of bounds for storage of size {size}"):
            compiled(given)
        taken.untyped_storage().resize_(1024)
        taken.detach().copy_(kept)
        torch.testing.assert_close(compiled(given), linear(given.t()))
