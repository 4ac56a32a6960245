"""Programs made at random of operators that sizes may vary for, operators that need numbers, calls of PyTorch and draws, with
several sizes each."""

import random

import pytest
import torch

from stoker import backend
from test_backend import evaluated  # noqa: F811, F401: a fixture.

F = torch.nn.functional
SERIES = torch.nn.Conv1d(8, 8, 3, padding=1)
HALVES = torch.nn.Conv1d(8, 8, 3, stride=2, padding=1)
IMAGE = torch.nn.Conv2d(1, 1, 3, padding=1)


def attended(x):
    y = x.transpose(1, 2)[:, None]
    return F.scaled_dot_product_attention(y, y, y)[:, 0].transpose(1, 2)


def split(x):
    first, second = x.split([x.shape[-1] // 2, x.shape[-1] - x.shape[-1] // 2], -1)
    return torch.cat([second, first * 2], -1)


def strided(x):
    return x + x.contiguous().as_strided((x.shape[0], 8, 1), (8 * x.shape[2], x.shape[2], 1))


# Each of a tensor [rows, 8, length], as their results are.
STEPS = (
    torch.sin, torch.relu, attended, split, strided,
    lambda x: x.softmax(-1),
    lambda x: x - x.mean(-1, keepdim=True),
    lambda x: x.cumsum(-1) / x.shape[-1],
    lambda x: (x @ x.transpose(1, 2) / x.shape[-1]).tanh() @ x,
    lambda x: F.layer_norm(x.transpose(1, 2), (8,)).transpose(1, 2),
    lambda x: SERIES(x),
    lambda x: F.pad(HALVES(x), (1, 1)),
    lambda x: IMAGE(x[:, None])[:, 0],
    lambda x: F.adaptive_avg_pool1d(x, x.shape[-1] // 2 + 1),
    lambda x: (x.reshape(-1, 2, 8) * 2).sum(1).mean() + x,
    lambda x: x.unfold(-1, 2, 1).mean(-1),
    lambda x: F.interpolate(x, size=x.shape[-1] + 3, mode="linear"),
    lambda x: F.interpolate(x, scale_factor=1.5),
    lambda x: x.topk(x.shape[-1] // 2 + 1, -1)[0],
    lambda x: F.dropout(x, 0.25),
    lambda x: x * torch.bernoulli(x.sigmoid()),
    lambda x: torch.repeat_interleave(x, 2, -1),
    lambda x: torch.fft.irfft(torch.fft.rfft(x) * 0.9, n=x.shape[-1]),
    lambda x: torch.linalg.inv(x @ x.transpose(1, 2) * 0.01 + torch.eye(8) * 8) @ x,
    lambda x: x / torch.linalg.svdvals(x + 0.1)[:, :1, None].clamp_min(0.5),
    lambda x: x.roll(x.shape[-1] // 2, -1),
    lambda x: F.pad(x, (x.shape[-1] // 2, 0)),
    lambda x: F.max_pool1d(x, 2, 1),
    lambda x: torch.igamma(x.abs() + 2, x.abs() + 1),
)


def made(steps):
    def function(x):
        halfway = None
        for number, step in enumerate(steps):
            x = step(x)
            if number == len(steps) // 2:
                halfway = x.sum(-1)
        return x, halfway

    return function


@torch.no_grad()
@pytest.mark.parametrize("seed", range(4))
def test_programs_at_random_are_as_eager_for_all_sizes(evaluated, seed):  # noqa: F811
    chosen = random.Random(seed)
    function = made(chosen.choices(STEPS, k=chosen.randint(3, 5)))
    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for length in chosen.sample((5, 6, 8, 9, 12, 17), 3):
        x = torch.randn(2, 8, length)
        results = []
        for each in (function, compiled):
            torch.manual_seed(length)
            results.append((*each(x), torch.rand(1)))
        torch.testing.assert_close(*results, atol=1e-3, rtol=1e-3)
