"""What the backward is given of the forward: no more than is needed, and what it was then."""

import math

import pytest
import torch

from stoker import backend
from stoker.lowering.joint.less import with_less_to_keep
from stoker.pytorch import aot
from test_backend import evaluated  # noqa: F811, F401: a fixture.

F = torch.nn.functional
ROWS, WIDTH = 64, 32
WHOLE = 4 * ROWS * WIDTH  # Bytes of x in f32.


def parted():
    """(the functional graphs of what is compiled, as they are made; a backend that runs them)"""
    graphs = []

    def keep(gm, _):
        graphs.append(gm)
        return gm.forward

    def compiled(gm, given):
        return aot.functional(gm, given, forward=keep, backward=keep, inference=keep, change_joint=with_less_to_keep)

    return graphs, compiled


def kept_by(function, *inputs, dynamic=False):
    """Bytes that the forward graph hands to the backward and made itself, with each storage counted once."""
    _, compiled = parted()
    torch._dynamo.reset()
    result = torch.compile(function, backend=compiled, dynamic=dynamic)(*inputs)
    held, given, waiting = {}, {tensor.untyped_storage().data_ptr() for tensor in (*inputs, WEIGHT)}, [result.grad_fn]
    while waiting:
        each = waiting.pop()
        for tensor in getattr(each, "saved_tensors", ()):
            if tensor is not None and tensor.untyped_storage().data_ptr() not in given:
                held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        waiting.extend(before for before, _ in each.next_functions if before is not None)
    result.sum().backward()
    return sum(held.values())


WEIGHT = (torch.arange(float(WIDTH * WIDTH)).view(WIDTH, WIDTH) / 1000).sin()


def product(x):
    return x @ WEIGHT


def gelu_of_formula(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def parts(x):
    q, k, v = torch.cat([x] * 3, -1).view(ROWS, 3, WIDTH).unbind(1)
    return q * k.sin() * v


def cut_out(x):
    return product(x)[0].exp().sin()


def in_steps(x):
    """Each sum would take all summands before it."""
    for _ in range(6):
        x = x + torch.sin(product(x))
    return x.cos().cos()


def after_sums(x):
    x = x + torch.sin(product(x))
    return x.sin() * x.exp() + (x * 2).cos()


def equal_ones(x):
    return product(F.gelu(product(x))) + product(F.gelu(product(x)))


def equal_ones_of_16_bits(x):
    with torch.autocast("cpu", torch.bfloat16):
        x = x.sin()
        return (product(x) + product(x)).float()


# What each keeps, in multiples of x.
KEPT = {
    "gelu_of_formula": (lambda x: gelu_of_formula(product(x)), 1),
    "several_of_one": (lambda x: (lambda y: y.sin().exp() * y.cos())(product(x)), 1),
    "gate": (lambda x: F.silu(product(x)) * product(x + 1), 2),
    "one_bit_for_each": (lambda x: F.relu(product(x)) * 2, 1),
    "log_softmax": (lambda x: F.log_softmax(product(x), -1), 1 + 2 / WIDTH),
    "softmax": (lambda x: F.softmax(product(x), 0).square(), 1 + 2 / ROWS),
    "factors_are_needed": (lambda x: product(F.gelu(product(x))).sin(), 3),
    "cut_out": (cut_out, 1 / ROWS),
    "after_sums": (after_sums, 2),
    "equal_ones": (equal_ones, 2),
    "equal_ones_of_16_bits": (equal_ones_of_16_bits, 1 / 2 + WIDTH / ROWS / 2),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("dynamic", (False, True))
def test_what_is_kept(name, dynamic):
    function, multiple = KEPT[name]
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    assert kept_by(function, x, dynamic=dynamic) <= multiple * WHOLE + 64
    held = kept_by(lambda x: function(x).sum(), x, dynamic=dynamic)
    assert held <= multiple * WHOLE + 64


def test_losses_keep_what_a_model_gives_and_not_its_softmax():
    def loss(logits, labels):
        return F.cross_entropy(logits.float().view(-1, WIDTH), labels.view(-1))

    logits = torch.randn(2, ROWS // 2, WIDTH, dtype=torch.bfloat16, requires_grad=True) * 1
    labels = torch.randint(0, WIDTH, (2, ROWS // 2))
    # A copy, in 16 bits: who holds the logits may fill them.
    assert kept_by(loss, logits, labels) <= WHOLE // 2 + 3 * 4 * ROWS


def test_views_keep_what_they_are_of():
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    assert kept_by(parts, x) <= 3 * WHOLE


def test_sums_are_not_made_from_all_that_is_in_them():
    graphs, compiled = parted()
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    torch.compile(in_steps, backend=compiled)(x).sum().backward()
    assert sum("add" in str(node.target) for node in graphs[1].graph.nodes) <= 7  # Of gradients.


# ---- As eager, whatever happens in between ----------------------------------------------------------


def changes_a_buffer(x, buffer):
    y = x * torch.sigmoid(buffer)
    buffer.add_(1)
    return y


def changes_it_twice(x, buffer):
    buffer.mul_(2)
    y = x * torch.sigmoid(buffer) * torch.tanh(buffer)
    buffer.add_(1)
    return y


def follows_a_view_of_it(x, buffer):
    y = x * torch.sigmoid(buffer.view(WIDTH, ROWS).view(ROWS, WIDTH))
    buffer.add_(1)
    return y


def follows_a_small_one(x, buffer):
    y = torch.exp(x) * torch.sigmoid(buffer[0, :1])
    buffer.add_(1)
    return y.sin() * y




def casts(x, buffer):
    with torch.autocast("cpu", torch.bfloat16):
        y = F.gelu(x @ buffer.t(), approximate="tanh")
        return F.log_softmax((y @ buffer).float() * 3, -1)


def has_infinities(x, buffer):
    return F.softmax(x.masked_fill(buffer > 0, -math.inf), -1).exp() + F.log_softmax(x * 1e30, -1).exp()


def is_empty(x, buffer):
    return F.softmax(x[:0], -1).sum() + F.log_softmax(x[:, :0], 0).sum() + (x[0, 0] * 1).softmax(0).exp() + x.sum()


def follows_a_large_one(x, buffer):
    y = torch.sigmoid(buffer) * torch.tanh(buffer) * torch.exp(buffer * 0.1)
    buffer.add_(1)
    return x * y * y.sin()


def follows_a_row(x, buffer):
    y = x.exp() * torch.sigmoid(buffer[0])
    buffer.add_(1)
    return y.sin() * y


def gives_what_it_keeps(x, buffer):
    y = torch.tanh(x @ buffer.t())
    return y.sin() * y.exp()


# Is the buffer filled, as with the next batch, before the backward pass?
FUNCTIONS = {
    changes_a_buffer: True, changes_it_twice: True, follows_a_view_of_it: True, follows_a_small_one: True, follows_a_large_one: True,
    follows_a_row: True, has_infinities: True, is_empty: True,
    casts: False, gives_what_it_keeps: False}


def gradient(function, fills):
    torch.manual_seed(0)
    x, buffer = torch.randn(ROWS, WIDTH, requires_grad=True), torch.randn(ROWS, WIDTH)
    for _ in range(2):
        result = function(x, buffer)
        if fills:
            buffer.add_(0.5)
        (result * torch.arange(result.numel()).cos().view_as(result)).sum().backward()
    return x.grad, buffer


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dynamic", (False, True))
def test_gradients_are_as_eager(evaluated, function, dynamic):  # noqa: F811
    compiled = torch.compile(function, backend=backend.stoker, dynamic=dynamic)
    found, wanted = gradient(compiled, FUNCTIONS[function]), gradient(function, FUNCTIONS[function])
    if function is casts:
        assert (found[0] - wanted[0]).norm() <= 2e-2 * wanted[0].norm()
    else:
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4, equal_nan=True)


def quantized(p):
    return p / p.abs().amax(-1, keepdim=True)


# Of p, in 16 bits: what is equal to another is so in the backward, too.
COMPARED = {
    "largest": lambda p: p.amax(1),
    "quantized": quantized,
    "to_the_largest": lambda p: (p - p.amax(-1, keepdim=True)).exp().sum(-1).log(),
    "to_the_least": lambda p: 1 - p.amin(0, keepdim=True),
    "the_largest_alone": lambda p: p * (p == p.max(-1, keepdim=True)[0]),
    "no_more_than_others": lambda p: torch.minimum(p, p.roll(1, -1)),
    "between": lambda p: p.clamp(-0.25, 0.25) * p.sign(),
    "above": lambda p: torch.where(p > 0.5, p.sin(), p.cos()) * p,
}


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float16), ids=str)
@pytest.mark.parametrize("before", (torch.sin, torch.sigmoid, torch.tanh, F.gelu), ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", COMPARED)
def test_what_is_compared_is_what_it_was(evaluated, name, before, dtype):  # noqa: F811
    if name == "between" and dtype == torch.bfloat16:
        dtype = torch.float16  # The evaluator keeps f32: an element in 200 is on the other side of 0.25.
    def function(x, weight):
        return COMPARED[name](before(x @ weight)).float()

    torch.manual_seed(0)
    x, weight = torch.randn(5, 37).to(dtype), (torch.randn(37, 37) / 8).to(dtype)
    found = []
    for each in (torch.compile(function, backend=backend.stoker), function):
        given = x.clone().requires_grad_()
        each(given, weight).sum().backward()
        found.append(given.grad.float())
    assert (found[0] - found[1]).norm() <= (1e-4 if dtype == torch.float32 else 5e-2) * found[1].norm()


def adds_to_what_it_is_given(function, x, weight):
    x = x * 1
    x += function(x, weight)
    return x


def doubles_a_view(function, x, weight):
    part, loss = function(x * 1, weight)
    with torch.no_grad():
        part.mul_(2)
    return loss


def doubles_all(function, x, weight):
    y, loss = function(x * 1, weight)
    y.detach().mul_(2)
    return loss


CHANGED = {
    "residual": (lambda x, w: x.sigmoid() * x.tanh() * x.exp(), adds_to_what_it_is_given),
    "relu": (lambda x, w: F.relu(x) * 2 + 1, adds_to_what_it_is_given),
    "view_of_logits": (
        lambda x, w: (lambda y: (y[1:], -(y.softmax(-1) * y.log_softmax(-1)).sum(-1).mean()))(x @ w), doubles_a_view),
    "view_of_a_sum": (lambda x, w: (lambda y: (y[1:], (y.sigmoid() * y.tanh()).sum()))(x + 1), doubles_a_view),
    "product": (lambda x, w: (lambda y: (y, (y.sigmoid() * y.tanh() * y.exp()).sum()))(x @ w), doubles_all),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_others_hold_may_change(evaluated, name):  # noqa: F811
    function, use = CHANGED[name]
    torch.manual_seed(0)
    x, weight = torch.randn(6, 8), torch.randn(8, 8)
    found = []
    for each in (torch.compile(function, backend=backend.stoker), function):
        given = x.clone().requires_grad_()
        use(each, given, weight).sum().backward()
        found.append(given.grad)
    torch.testing.assert_close(*found, atol=1e-5, rtol=1e-5)


def test_what_is_drawn_is_drawn_once(evaluated):  # noqa: F811
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    result = torch.compile(lambda x: F.dropout(torch.sin(x), 0.5) * torch.rand_like(x).exp(), backend=backend.stoker)(x)
    result.sum().backward()
    torch.testing.assert_close(x.grad, result.detach() / x.detach().tan(), atol=1e-3, rtol=1e-3)


def test_results_that_are_equal_share_no_memory(evaluated):  # noqa: F811
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    function = torch.compile(lambda x: (x.clone().view(-1), x.clone().view(-1), x.sin(), x.sin()), backend=backend.stoker)
    results = function(x)
    with torch.no_grad():
        results[0].zero_()
        results[2].zero_()
    torch.testing.assert_close(results[1], x.view(-1))
    torch.testing.assert_close(results[3], x.sin())


@pytest.mark.parametrize("checkpoint", (False, True))
def test_what_a_program_computes_again_itself(evaluated, checkpoint):  # noqa: F811
    from torch.utils.checkpoint import checkpoint as checkpointed

    def function(x, buffer):
        def block(x):
            return gelu_of_formula(x @ buffer.t() @ buffer)

        return checkpointed(block, checkpointed(block, x, use_reentrant=False), use_reentrant=False) if checkpoint else block(x)

    found, wanted = gradient(torch.compile(function, backend=backend.stoker), False), gradient(function, False)
    assert (found[0] - wanted[0]).norm() <= 1e-3 * wanted[0].norm()
