"""Training with sizes that vary: one program each way, whatever the sizes are."""

import random

import pytest
import torch

from stoker import backend
from test_backend import evaluated  # noqa: F811, F401: a fixture.
from test_parts import STEPS, made

F = torch.nn.functional
BOTH = ((4, 24), (2, 48), (3, 33), (5, 77))  # Rows, and how long they are.


def attended(x, mask, **options):
    q = x.reshape(*x.shape[:2], 2, 8).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q.sin(), q, attn_mask=mask, **options).transpose(1, 2).flatten(2)


def made_by_indices(x):
    """As transformers do."""
    rows, places = torch.arange(x.shape[0])[:, None, None, None], torch.arange(x.shape[1])
    queries, keys = places[None, None, :, None], places[None, None, None, :]
    sequence = (places[None].expand(x.shape[0], -1) < 0).cumsum(-1)
    return (keys <= queries) & (sequence[rows, queries] == sequence[rows, keys])


def told_apart(x):
    return F.cross_entropy(x[:, :-1].flatten(0, 1), x[:, 1:].abs().argmax(-1).flatten())


def windows(x):
    return torch.stack([x[:, first:x.shape[1] - 3 + first] for first in range(3)]).sum(0).mean() + x.roll(1, 1)[:, 1:]


# Of x, [rows, length, 16].
FUNCTIONS = {
    "first": lambda x: x[:, 0].exp(),
    "last": lambda x: x[:, -1] * 2,
    "one_of": lambda x: x.select(1, x.shape[1] - 2).exp(),
    "without_the_last": told_apart,
    "every_other": lambda x: x[:, 1::2].cumsum(1),
    "in_the_middle": lambda x: x[:, 2:-3].softmax(1),
    "windows": windows,
    "pooled": lambda x: torch.cat([x.mean(1), x.amax(1), x[:, 0], x[:, -1]], 1),
    "shifted": lambda x: (F.pad(x, (0, 0, 1, 0))[:, :-1] * x).cumsum(1).softmax(1),
    "padded": lambda x: F.pad(x, (0, 0, x.shape[1] // 2, 3), value=2.0) * 3,
    "cut": lambda x: F.pad(x, (0, 0, 1 - x.shape[1] // 3, x.shape[0])).sin(),
    "full_mask": lambda x: attended(x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)),
    "causal_mask": lambda x: attended(x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()),
    "causal_mask_added": lambda x: attended(x, torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)),
    "mask_made_by_indices": lambda x: attended(x, made_by_indices(x)),
    "mask_and_a_scale_below_zero": lambda x: attended(
        x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(), scale=-0.5),
    "mask_that_is_kept": lambda x: attended(x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(1)),
    "mask_that_is_given_too": lambda x: (lambda mask: attended(x, mask) * mask.float().mean())(
        torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()),
}


MORE = {"every_other": 1}  # Nothing or one is behind the last.


def gradients(function, x, weight):
    weight.grad = None
    given = x.clone().requires_grad_()
    results = function(given @ weight)
    results = results if isinstance(results, tuple) else (results,)
    sum((result * torch.arange(result.numel()).sin().view_as(result)).sum() for result in results).backward()
    return [*results, given.grad, weight.grad]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_each_way(evaluated, name):  # noqa: F811
    compiled = torch.compile(FUNCTIONS[name], backend=backend.stoker, dynamic=True)
    weight = (torch.randn(16, 16) / 4).requires_grad_()
    for rows, length in BOTH:
        x = torch.randn(rows, length, 16)
        torch.testing.assert_close(
            gradients(compiled, x, weight), gradients(FUNCTIONS[name], x, weight), atol=1e-4, rtol=1e-4)
    assert len(evaluated) == 2 + MORE.get(name, 0)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "mask" in name])
def test_numbers_that_are_known_leave_masks_out_too(evaluated, name):  # noqa: F811
    compiled = torch.compile(FUNCTIONS[name], backend=backend.stoker, dynamic=False)
    x, weight = torch.randn(3, 12, 16), (torch.randn(16, 16) / 4).requires_grad_()
    torch.testing.assert_close(gradients(compiled, x, weight), gradients(FUNCTIONS[name], x, weight), atol=1e-4, rtol=1e-4)
    assert len(evaluated) == 2


def is_differentiable(step):
    return not {"svdvals", "igamma"} & set(step.__code__.co_names if hasattr(step, "__code__") else ())


@pytest.mark.parametrize("seed", range(4))
def test_gradients_at_random_are_as_eager_for_all_sizes(evaluated, seed):  # noqa: F811
    chosen = random.Random(seed)
    function = made(chosen.choices([step for step in STEPS if is_differentiable(step)], k=chosen.randint(3, 4)))
    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for length in chosen.sample((5, 6, 8, 9, 12, 17), 3):
        x, weight, results = torch.randn(2, 8, length), torch.eye(length, requires_grad=True), []
        for each in (function, compiled):
            torch.manual_seed(length)
            results.append((*gradients(each, x, weight), torch.rand(1)))
        torch.testing.assert_close(*results, atol=1e-3, rtol=1e-3)


def test_sizes_that_are_given_as_numbers_and_are_one_product(evaluated):  # noqa: F811
    """As what resumes after a graph break is given them."""
    def function(x, labels, rows, columns, others, more):
        return F.cross_entropy(x.view(rows * columns, -1), labels.view(others * more))

    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for rows, columns, others in ((4, 6, 3), (5, 8, 10), (6, 6, 9), (7, 10, 5)):
        x, labels = torch.randn(rows, columns, 5), torch.randint(0, 5, (others, rows * columns // others))
        results = []
        for each in (function, compiled):
            given = x.clone().requires_grad_()
            result = each(given, labels, *x.shape[:2], *labels.shape)
            results.append((result, *torch.autograd.grad(result, given)))
        torch.testing.assert_close(*results)
    assert len(evaluated) == 2
