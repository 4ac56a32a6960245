"""Results of operators whose traces say otherwise lie as in eager PyTorch, and so do gradients."""

import pytest
import torch
import torch.nn.functional as F

from stoker import backend
from test_backend import evaluated  # noqa: F401: a fixture.


def _batch_norm(training):
    return lambda x: F.batch_norm(x, torch.zeros(6), torch.ones(6), torch.ones(6) * 2, torch.ones(6), training)


# Of 5 by 6 by 7.
FUNCTIONS = {
    "batch norm": _batch_norm(True),
    "batch norm by running statistics": _batch_norm(False),
    "batch norm alone": lambda x: F.batch_norm(x, None, None, training=True) * 2,
    "instance norm": F.instance_norm,
    "cross entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), torch.ones(5, 6, 7), reduction="none"),
    "sign": lambda x: x.copysign(torch.tensor(-1.0)),
    "division": lambda x: torch.div(x, torch.tensor(2.0), rounding_mode="floor"),
    "exponents": lambda x: torch.ldexp(x, torch.ones(5, 1, 7)),
    "logarithm of a sigmoid": lambda x: F.logsigmoid(x) * 1,
    "sum of exponentials": lambda x: torch.logaddexp(x, x[:1]),
    "logarithm": lambda x: torch.xlogy(x.exp(), torch.ones(7)),
    "channels": lambda x: F.channel_shuffle(x[None], 5) * 2,
    "reflected": lambda x: F.pad(x[None, None], (1,) * 6, mode="reflect"),
    "replicated": lambda x: F.pad(x[None, None], (1,) * 6, mode="replicate"),
    "reflected in two dims": lambda x: F.pad(x[None], (1,) * 4, mode="reflect"),
    "replicated in two dims": lambda x: F.pad(x[None], (1,) * 4, mode="replicate"),
    "reflected in one": lambda x: F.pad(x, (1, 1), mode="reflect"),
    "replicated in one": lambda x: F.pad(x, (1, 1), mode="replicate"),
    "rolled": lambda x: x.roll(1, 1) * 2,
    "rolled in two dims": lambda x: x.roll((1, 2), (0, 2)),
    "gated": lambda x: F.glu(x, 1),
    "both": lambda x: torch.logical_and(x > 0, x[:1] > 0),
}
@pytest.mark.parametrize("order", ((0, 2, 3, 1), (0, 2, 1, 3), (3, 2, 1, 0)))
@pytest.mark.parametrize("shifts, dims", ((1, 0), (1, 2), ((1, 2), (0, 1))))
def test_images_are_rolled_as_they_lie(evaluated, order, shifts, dims):  # noqa: F811
    x = torch.randn(2, 8, 6, 5).permute(order).contiguous().permute([order.index(dim) for dim in range(4)])
    function = lambda x: (x.roll(shifts, dims), x.roll(shifts, dims).relu() * 2)  # noqa: E731
    for result, wanted in zip(torch.compile(function, backend=backend.stoker)(x), function(x)):
        torch.testing.assert_close(result, wanted)
        assert result.stride() == wanted.stride()
    assert evaluated


LAYOUTS = {
    "reversed": (2, 1, 0),
    "transposed": (0, 2, 1),
    "rolled": (1, 2, 0),
}


def _input(order):
    """Whose dims lie in this order, the slowest first."""
    x = torch.randn(5, 6, 7, generator=torch.Generator().manual_seed(0))
    return x.permute(order).contiguous().permute([order.index(dim) for dim in range(3)])


@pytest.mark.parametrize("order", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lie_as_in_eager(evaluated, name, order):  # noqa: F811
    function = FUNCTIONS[name]
    given, expected = (_input(order).requires_grad_(name != "both") for _ in range(2))
    result, wanted = torch.compile(function, backend=backend.stoker)(given), function(expected)
    torch.testing.assert_close(result, wanted)
    assert result.stride() == wanted.stride()
    if wanted.requires_grad:
        for one in (result, wanted):
            one.square().sum().backward()
        torch.testing.assert_close(given.grad, expected.grad, rtol=1e-4, atol=1e-5)
        assert given.grad.stride() == expected.grad.stride()
    assert evaluated


@pytest.mark.parametrize("asks_for_gradient", (False, True))
@pytest.mark.parametrize("order", LAYOUTS.values(), ids=LAYOUTS)
def test_a_kernel_that_is_another_without_gradients(evaluated, order, asks_for_gradient):  # noqa: F811
    x = _input(order).requires_grad_(asks_for_gradient)
    for function in (lambda x: F.max_pool1d(x * 2, 2), lambda x: F.max_pool1d(x, 2, return_indices=True)[0] * 2):
        for mode in (torch.no_grad, torch.enable_grad):
            with mode():
                result, wanted = torch.compile(function, backend=backend.stoker)(x), function(x)
            torch.testing.assert_close(result, wanted)
            assert result.stride() == wanted.stride()
    assert evaluated


@pytest.mark.parametrize("function", (
    lambda x: x[:, :, :0] * 2, lambda x: (x[:0] + 1).exp(), lambda x: torch.cat([x[:, :0], x[:, :0]]).sin(),
    lambda x: (x[:0] * 2, x * 2), lambda x: torch.where(x[:0] > 0, x[:0], 1.0), lambda x: x[:0].reshape(0, 1, 4) * 2,
    lambda x: (x.reshape(-1)[:0].view(2, 0, 1, 3) + 1) * 2))
def test_what_has_no_elements(function):
    for order in LAYOUTS.values():
        found, wanted = torch.compile(function, backend=backend.stoker)(_input(order)), function(_input(order))
        for one, other in zip(*map(torch.utils._pytree.tree_leaves, (found, wanted))):
            assert (one.shape, one.stride()) == (other.shape, other.stride())


@torch.no_grad()
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_that_vary(evaluated, name):  # noqa: F811
    compiled = torch.compile(lambda x: FUNCTIONS[name](x * 2), backend=backend.stoker, dynamic=True)
    for order in LAYOUTS.values():
        x = _input(order)
        result, wanted = compiled(x), FUNCTIONS[name](x * 2)
        torch.testing.assert_close(result, wanted)
        assert result.stride() == wanted.stride()
