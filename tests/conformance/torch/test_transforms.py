"""What autograd does around a compiled function that kernels know nothing of: tangents, and gradients in batches."""

import contextlib

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
import torch.autograd.forward_ad as forward_ad

import stoker  # noqa: F401


def entry(x):
    return torch.tanh(x) * x.sum()


@pytest.fixture
def compiled():
    torch._dynamo.reset()
    yield torch.compile(entry, backend="stoker")
    torch._dynamo.reset()


def tangent_of(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


@pytest.mark.parametrize("plain_calls", [0, 1, 2])
def test_tangents_come_through_before_and_after_plain_calls(compiled, plain_calls):
    x = torch.linspace(-1, 1, 5)
    for _ in range(plain_calls):
        torch.testing.assert_close(compiled(x), entry(x))
    torch.testing.assert_close(tangent_of(compiled, x), tangent_of(entry, x))
    torch.testing.assert_close(compiled(x), entry(x))


def test_tangents_come_through_a_layer():
    layer = torch.nn.Linear(4, 3)
    compiled, x = torch.compile(layer, backend="stoker"), torch.randn(2, 4)
    with torch.no_grad():
        compiled(x)
        torch.testing.assert_close(tangent_of(compiled, x), tangent_of(layer, x))


def test_gradients_in_a_batch(compiled):
    x = torch.linspace(-1, 1, 4, requires_grad=True)
    wanted, = torch.autograd.grad(entry(x), x, torch.eye(4), is_grads_batched=True)
    found, = torch.autograd.grad(compiled(x), x, torch.eye(4), is_grads_batched=True)
    torch.testing.assert_close(found, wanted)
    # One at a time, they are the kernels' again.
    again, = torch.autograd.grad(compiled(x), x, torch.eye(4)[0])
    torch.testing.assert_close(again, wanted[0])


def test_a_vectorized_jacobian(compiled):
    x = torch.linspace(-1, 1, 4)
    wanted = torch.autograd.functional.jacobian(entry, x, vectorize=True)
    torch.testing.assert_close(torch.autograd.functional.jacobian(compiled, x, vectorize=True), wanted)


@pytest.mark.parametrize("with_mode", (True, False))
@pytest.mark.parametrize("function", (lambda x: x.sin() + 1, torch.nn.Linear(8, 8)), ids=("alone", "weights"))
def test_what_has_no_memory_is_computed_by_pytorch(function, with_mode):
    """Tensors of a FakeTensorMode, after real ones and before them."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    for fake_first in (True, False):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="stoker")
        with torch.no_grad():
            for is_fake in (fake_first, not fake_first):
                if not is_fake:
                    x = torch.randn(3, 8)
                    torch.testing.assert_close(compiled(x), function(x))
                    continue
                with mode:
                    x = torch.randn(3, 8)
                with mode if with_mode else contextlib.nullcontext():
                    result = compiled(x)
                assert type(result) is type(x) and result.shape == (3, 8)
