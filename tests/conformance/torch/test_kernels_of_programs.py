"""Kernels that a program gives PyTorch's operators run where eager runs them, those of other overloads too."""

import contextlib

import pytest
import stoker  # noqa: F401
import torch


def _given(x):
    return x * 9


def _given_in_place(x):
    return x.mul_(9)


def _given_out(x, *, out):
    return out.copy_(x * 9)


def _given_with_options(x, *options):
    return x * 9


def _with_out(x):
    result = torch.empty_like(x)
    torch.sin(x, out=result)
    return result


# (operator, its kernel, what reaches it)
_CASES = [
    ("sin", _given, torch.sin), ("sin_", _given_in_place, lambda x: x.clone().sin_()), ("sin.out", _given_out, _with_out),
    ("linear", _given_with_options, lambda x: torch.nn.functional.linear(x, torch.ones(2, 2))),
    ("_softmax", _given_with_options, lambda x: torch.nn.functional.softmax(x, 0))]


@contextlib.contextmanager
def registered(operator, kernel, key):
    """While it is, what operators remember of where their calls go counts: PyTorch does not forget it with the kernel."""
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl(operator, kernel, key)
        yield
    finally:
        library._destroy()
        packet = getattr(torch.ops.aten, operator.partition(".")[0])
        for overload in packet.overloads():
            getattr(packet, overload)._dispatch_cache.clear()


@pytest.mark.parametrize(("operator", "kernel", "function"), _CASES, ids=[case[0] for case in _CASES])
@pytest.mark.parametrize("key", ["CPU", "ADInplaceOrView", "BackendSelect"])
def test_programs_kernel_gives_what_eager_gives(operator, kernel, function, key):
    torch._dynamo.reset()
    x = torch.arange(4.0).reshape(2, 2) + 1
    before = function(x)
    with registered(operator, kernel, key):
        expected = function(x)
        assert key != "CPU" or not torch.equal(expected, before)  # Not all keys come before what is made of others.
        assert torch.equal(torch.compile(function, backend="stoker")(x), expected)


def test_a_kernel_that_is_gone_is_forgotten():
    def function(x):
        return torch.nn.functional.linear(x, torch.ones(2, 2)).exp()

    x = torch.ones(2, 2)
    with registered("linear", _given_with_options, "CPU"):
        torch.compile(function, backend="stoker")(x)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(function, backend="stoker")(x), function(x))
