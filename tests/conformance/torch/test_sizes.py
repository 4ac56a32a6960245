"""Functions of varying sizes: lowered once for all of them, or once for each set that has to be numbers."""

import resource

import pytest
import torch

from stoker import backend, counters
from stoker.lowering import compiling
from test_backend import evaluated  # noqa: F401: a fixture.

ROWS = ((5, 8), (7, 8), (3, 8), (12, 8), (64, 8), (2, 8))
BOTH = ((4, 5), (7, 9), (3, 11), (9, 2), (8, 64))
LENGTHS = (5, 9, 4, 13, 21, 33, 64, 12, 50, 40)
IMAGE = torch.nn.Conv2d(3, 4, 3)
SERIES = torch.nn.Conv1d(8, 4, 3)


def of_shapes(*shapes):
    return [[torch.randn(shape)] for shape in shapes]


def heads(*lengths):
    return [[torch.randn(2, 3, length, 16) for _ in range(3)] for length in lengths]


def attended(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def attended_in_steps(q, k, v):
    return (q @ k.transpose(2, 3) / 4).softmax(-1) @ v


def masked(q, k, v):
    keep = torch.arange(k.shape[2]) % 3 != 1
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep[None, :])


def heard(x):
    return torch.nn.functional.gelu(SERIES(x.sin())).transpose(1, 2).softmax(-1) @ torch.ones(4, 3)


def resized(x):
    """Nothing but numbers says how long the second factor is."""
    return torch.nn.functional.interpolate(x, scale_factor=1.5).softmax(-1).sum(-1) @ torch.ones(8, 3)


def restrided(x):
    y = x.cumsum(0) * 2
    return y.as_strided((x.shape[0], 3), (8, 1)).softmax(-1).sum(0, keepdim=True) @ y[:, :3].t()


def view_of_a_later_output(x):
    half = x[x.shape[0] // 2:]
    return half[:, 1:], x + 1, half


# Name -> (function, calls, how many segments there are for them).
FUNCTIONS = {
    "mean": (lambda x: x.mean(0) + x.var(0), of_shapes(*ROWS), 1),
    "softmax": (lambda x: x.softmax(-1), of_shapes(*BOTH), 1),
    "layer_norm": (lambda x: torch.nn.functional.layer_norm(x, (x.shape[-1],)), of_shapes(*BOTH), 1),
    "product": (lambda x: x @ x.t() + x.sum(), of_shapes(*BOTH), 1),
    "linear": (lambda x: torch.nn.functional.gelu(x[:, None] @ torch.ones(8, 3)), of_shapes(*ROWS), 1),
    "views": (lambda x: x.view(-1, 2, 4).transpose(0, 1).reshape(2, -1) * 2, of_shapes(*ROWS), 1),
    "parts": (lambda x: (x[1:] - x[:-1], x[x.shape[0] // 2:] + 1), of_shapes(*ROWS), 2),  # x[1:] may have one row.
    "view_of_a_later_output": (view_of_a_later_output, of_shapes(*ROWS), 1),
    "join": (lambda x: torch.cat([x, x * 2, x.new_zeros(2, 8)]), of_shapes(*ROWS), 1),
    "places": (lambda x: x + torch.arange(x.shape[0])[:, None], of_shapes(*ROWS), 1),
    "triangle": (lambda x: x.tril(-1).cumsum(0), of_shapes(*BOTH), 1),
    "flipped": (lambda x: x.flip(0).argmax(0), of_shapes(*ROWS), 1),
    "repeated": (lambda x: x.repeat(2, 3) * x.shape[0], of_shapes(*ROWS), 1),
    "chosen": (lambda x: x[torch.arange(2) - 1] * x.numel(), of_shapes(*ROWS), 1),
    "attention": (attended, heads(5, 9, 100, 2), 1),
    "attention_in_steps": (attended_in_steps, heads(5, 9, 100, 2), 1),
    "attention_masked": (masked, heads(5, 9, 100, 2), 1),
    "eager_between": (lambda x: torch.igamma(x.abs() + 2, x.abs() + 1).sum(0) * x.shape[0], of_shapes(*ROWS), 1),
    "two_sizes_that_are_one": (lambda x, y: x + y, [[torch.randn(n, 4), torch.randn(n, 4)] for n in (2, 5, 9)], 1),
    # A kernel is for one size of images, whatever their number. The graph of 8x9 is traced for any height and width.
    "images": (lambda x: IMAGE(x), of_shapes((2, 3, 8, 8), (5, 3, 8, 8), (9, 3, 8, 8), (5, 3, 9, 8), (2, 3, 9, 8)), 2),
    **{f"pooled_{name}": (function, of_shapes((2, 3, 9, 12), (3, 3, 10, 11), (2, 3, 13, 8), (4, 3, 16, 15), (2, 3, 6, 9)), segments)
       for name, function, segments in (
           ("by_maxima", lambda x: torch.nn.functional.max_pool2d(x.sin(), 3, 2, 1), 1),
           ("by_means", lambda x: torch.nn.functional.avg_pool2d(x.sin(), 3, 2, 1), 1),
           ("by_means_of_its_own", lambda x: torch.nn.functional.avg_pool2d(x.sin(), (3, 2), 2, 1, count_include_pad=False), 1),
           ("rounded_up", lambda x: torch.nn.functional.avg_pool2d(x.sin(), 2, 3, 1, ceil_mode=True), 3))},
    "padded": (lambda x: torch.nn.functional.pad(x, (x.shape[0], 0)) + 1, of_shapes(*ROWS), 1),
    # One program for all lengths, and a part for each. Two numbers of rows make no difference.
    "part": (heard, of_shapes(*((rows, 8, length) for length in LENGTHS for rows in (2, 3))), 11),
    "part_of_unknown_size": (resized, of_shapes(*((2, 8, length) for length in LENGTHS[:3])), 4),
    "part_that_counts_elements": (restrided, of_shapes(*ROWS[:3]), 5),
    "rolled": (lambda x: x.sin().roll(x.shape[0] // 2, 0) * 2, of_shapes(*ROWS), 1),
    "called": (lambda x: torch.linalg.inv(x.t() @ x + torch.eye(8)) @ x.t(), of_shapes(*ROWS), 1),
    "called_with_sizes": (lambda x: torch.igamma(x.abs() + 2, x.abs() + x.shape[0]).sum(0), of_shapes(*ROWS), 1),
    "numbers_below_zero": (lambda x: x * (3 - x.shape[0]) + torch.full((8,), -x.shape[0] * 2), of_shapes(*ROWS), 1),
    "least_and_greatest_below_zero": (
        lambda x: x * max(3 - x.shape[0], -x.shape[1]) + min(x.shape[0], x.shape[1] - 9) * 2 + min(0, 4 - x.shape[0]),
        of_shapes((12, 64), *BOTH), 1),
    "quotients_below_zero": (
        lambda x: x * (x.shape[1] // -3) + (x.shape[0] - 5) % x.shape[1] + (x.shape[0] - 9) // 2 * torch.full((1,), x.shape[0] % -3),
        of_shapes(*BOTH), 1),
    # Sizes 0 and 1 are traced apart.
    "few_rows": (lambda x: x.sum(0) + x.shape[0], of_shapes(*ROWS, (1, 8), (0, 8)), 3),
}


@torch.no_grad()
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes(evaluated, name):  # noqa: F811
    function, calls, segments = FUNCTIONS[name]
    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for arguments in [*calls, *calls]:
        torch.testing.assert_close(compiled(*arguments), function(*arguments), atol=1e-5, rtol=1e-5)
    # PyTorch may trace one graph again: before 2.15 pools ask what is left of a size.
    assert len({segment.text for segment, _ in evaluated}) == segments


@pytest.mark.parametrize("shuffle", [torch.nn.PixelUnshuffle(2), torch.nn.PixelShuffle(2), torch.nn.ChannelShuffle(3)], ids=str)
def test_what_eager_does_not_divide_is_not_divided_of_nothing(shuffle):
    compiled = torch.compile(lambda x: shuffle(x + 1), backend="stoker", dynamic=True)
    for function in (compiled, lambda x: shuffle(x + 1)):
        with pytest.raises(RuntimeError):
            function(torch.randn(0, 7, 9, 8))
    x = torch.randn(3, 12, 8, 6)
    torch.testing.assert_close(compiled(x), shuffle(x + 1))


@pytest.mark.parametrize("dynamic", [None, True])
def test_an_input_of_any_size_is_written_by_index(dynamic):
    """The check of indices has a size below zero in it."""
    def function(a, b):
        b.mul_(2)
        a.index_put_((torch.tensor([0]),), torch.tensor(5.0))
        a[torch.tensor([-1])] += 2
        return [b]

    before, compiled = counters().get("graphs_eager", 0), torch.compile(function, backend="stoker", dynamic=dynamic)
    for shape in ((4, 4), (2, 5), (3, 7)):
        given = torch.randn(2, *shape)
        expected = given.clone()
        results = compiled(*given), function(*expected)
        torch.testing.assert_close((given, results[0]), (expected, results[1]))
    assert counters().get("graphs_eager", 0) == before


def test_dropout_in_training_makes_one_program_for_all_sizes(evaluated):  # noqa: F811
    def function(x, w):
        return torch.nn.functional.dropout((x @ w).relu(), 0.5).softmax(-1)

    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for rows in (5, 9, 4, 13, 2):
        x, w = torch.randn(rows, 8), torch.randn(8, 6, requires_grad=True)
        found = []
        for each in (function, compiled):
            w.grad = None
            torch.manual_seed(rows)
            result = each(x, w)
            (result * x[:, :6]).sum().backward()
            found.append((result, w.grad, torch.rand(1)))  # As many numbers were drawn.
        torch.testing.assert_close(*found, atol=1e-5, rtol=1e-5)
    assert len(evaluated) == 2


@torch.no_grad()
def test_a_part_draws_in_its_turn(evaluated):  # noqa: F811
    def function(x):
        y = torch.nn.functional.dropout(x, 0.5) @ torch.ones(x.shape[-1], 7)
        z = torch.nn.functional.dropout(SERIES(torch.nn.functional.dropout(SERIES(y), 0.5).sum() * y), 0.5)
        return torch.nn.functional.dropout(z.softmax(-1), 0.5), torch.rand(2)

    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for length in LENGTHS[:3]:
        x = torch.randn(2, 8, length)
        results = []
        for each in (function, compiled):
            torch.manual_seed(length)
            results.append(each(x))
        torch.testing.assert_close(*results, atol=1e-4, rtol=1e-4)


def check_a_version_for_each_number_of_rows(evaluated):
    compiled = torch.compile(lambda x: x.sin() + 1, backend=backend.stoker, dynamic=True)
    for rows in (3, 4, 3):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(compiled(x), x.sin() + 1)
    assert len(evaluated) == 2


@torch.no_grad()
def test_a_rule_that_takes_numbers_alone_makes_versions(evaluated, monkeypatch):  # noqa: F811
    """Where sizes that vary would leave an operator to PyTorch, every set of sizes has a program of its own."""
    from stoker.aten_ops import RULES, Unsupported

    known = RULES["aten.sin.default"]

    def numbers_only(g, out, x):
        if not all(isinstance(size, int) for size in x.shape):
            raise Unsupported("what varies")
        return known(g, out, x)

    monkeypatch.setitem(RULES, "aten.sin.default", numbers_only)
    check_a_version_for_each_number_of_rows(evaluated)


@torch.no_grad()
def test_a_refused_artifact_makes_versions(evaluated, monkeypatch):  # noqa: F811
    from stoker.libstoker.library import StokerError

    make = compiling._executable

    def refuse(segment, *others):
        if segment.symbols:
            raise StokerError(3, "Sizes that vary.")
        return make(segment, *others)

    monkeypatch.setattr(compiling, "_executable", refuse)
    check_a_version_for_each_number_of_rows(evaluated)


@torch.no_grad()
def test_an_index_out_of_bounds_is_told_with_the_size_of_the_call(evaluated):  # noqa: F811
    compiled = torch.compile(lambda x, i: x[i] + 1, backend=backend.stoker, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 2)
        with pytest.raises(IndexError, match=f"index 7 is out of bounds for dimension 0 with size {rows}"):
            compiled(x, torch.tensor([1, 7]))
        torch.testing.assert_close(compiled(x, torch.tensor([1, -1])), x[torch.tensor([1, -1])] + 1)
    assert len(evaluated) == 1


@torch.no_grad()
@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_nobody_asks_about_a_size_that_only_a_run_knows(evaluated, caplog):  # noqa: F811
    def function(x):
        places = (x[:, 0] > 0).nonzero()
        return x[places[:, 0]] * 2, x.softmax(-1)

    compiled = torch.compile(function, backend=backend.stoker, dynamic=True)
    for rows in (4, 7):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(compiled(x), function(x))
    assert "bug in Stoker" not in caplog.text


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_sizes_keep_no_memory_of_tensors():
    """However long they become, one after the other."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    compiled = torch.compile(model, backend="stoker", dynamic=True)
    with torch.no_grad():
        for rows in (4, 4000):
            compiled(torch.randn(rows, 64))
        before = resident_bytes()
        for rows in range(2000, 2300):
            compiled(torch.randn(rows, 64))
    assert resident_bytes() - before < 100 << 20  # And not the 300 MB of what went in and came out.


@torch.no_grad()
def test_one_program_counts_steps(evaluated):  # noqa: F811
    """Numbers that are no sizes; those below zero are compiled for."""
    def function(x, step):
        return x * step + (step - 3) // 2

    compiled = torch.compile(function, backend="stoker", dynamic=True)
    for step in (5, 7, 2, 1000, 1 << 22, 12, 3):
        x = torch.randn(8, dtype=torch.float64)
        torch.testing.assert_close(compiled(x, step), function(x, step))
    assert len(evaluated) == 1
    for step in (-3, -8, 5):
        torch.testing.assert_close(compiled(x, step), function(x, step))
    assert len(evaluated) == 3


STEPS = {
    "clamp": lambda x, n: x.clamp(max=n) + x.clamp(n - 9, n + 1),
    "compare": lambda x, n: (x > n) | (x == n) | (n <= x),
    "alpha": lambda x, n: torch.add(x, x, alpha=n) - torch.sub(x, x.sin(), alpha=n),
    "absolute": lambda x, n: x + abs(n - 4) * abs(n),
    "chosen": lambda x, n: torch.where(x > 0, x, n).masked_fill(x < -1, n),
    "quotient": lambda x, n: x / n + x // n + x % n,
    "whole": lambda x, n: x.long() * n - (x.long() << n) + torch.full((2,), n, dtype=torch.int32).sum(),
}


@torch.no_grad()
@pytest.mark.parametrize("name", STEPS)
def test_operators_take_numbers_of_any_size(evaluated, name):  # noqa: F811
    compiled = torch.compile(STEPS[name], backend="stoker", dynamic=True)
    x = torch.randn(4, 6) * 9
    for step in (5, 7, 2, 12, 3):
        torch.testing.assert_close(compiled(x, step), STEPS[name](x, step))
    assert len(evaluated) == 1


def test_sizes_that_are_multiples_of_sums_are_numbers(evaluated):  # noqa: F811
    def function(x):
        n = x.shape[-1] // 2 + 2
        return torch.nn.functional.pad(x[..., :n], (0, (-n) % 3)).unflatten(-1, (-1, 3)).sum(-1)[0]

    compiled = torch.compile(function, backend="stoker", dynamic=True)
    for shape in ((5, 7), (9, 16), (4, 11)):
        gradients = []
        for each in (function, compiled):
            x = torch.linspace(-1, 1, shape[0] * shape[1]).view(shape).requires_grad_()
            gradients.append(torch.autograd.grad(each(x).square().sum(), x))
        torch.testing.assert_close(*gradients)
    assert len(evaluated) == 2


def test_a_size_that_is_read_as_a_number_may_become_zero():
    """As in masks of sliding windows."""
    def shifted(x):
        return x + torch.arange(x.shape[0]) + max(0, x.shape[0] - 5)

    compiled = torch.compile(shifted, backend="stoker", dynamic=True)
    before = counters().get("graphs_eager", 0)
    for size in (9, 7, 3, 5, 6, 2, 8):
        torch.testing.assert_close(compiled(torch.ones(size)), shifted(torch.ones(size)))
    assert counters().get("graphs_eager", 0) == before
