"""Sizes that only a run knows: what has them runs in PyTorch, by name, and the rest of the graph is compiled."""

import operator

import pytest
import torch
import torch.nn.functional as F

from stoker import varying
from stoker.base import tally
from stoker.lowering import compiling
from stoker.runtime import sizes
from test_backend import evaluated, warnings  # noqa: F401: fixtures.

CASES = {
    "mask": lambda x: ((x[x > 0] * 3 + 1).sum() + x.exp(), x[x > 0.5]),
    "nonzero": lambda x: (x.sum(0) * 2, x[:, 0].relu().nonzero().squeeze(1) + 1),
    "unique": lambda x: (x.round().unique(return_counts=True), x.exp()),
    "masked_select": lambda x: torch.masked_select(x.sin(), x > 0).cumsum(0),
    "repeat_interleave": lambda x: torch.repeat_interleave(x * 2, (x[:, 0] > 0).long() * 2, dim=0).t(),
    "item": lambda x: (x.sin()[:int((x[:, 0] > 0).sum().item())] * 2, x.cos()),
    "tolist": lambda x: torch.ones((x[0].abs() * 2).long().tolist()).sum() + x.relu(),
    "product": lambda x: (F.linear(x[x[:, 0] > 0], x).softmax(-1), x @ x.t()),
    "dropout": lambda x: (F.dropout(x[x > 0], 0.5), F.dropout(x, 0.5) * 2),
    "index that lies otherwise": lambda x: x.t()[:, x[:, 0].nonzero().squeeze(1)] + 1,
    "norm beside": lambda x: (torch.div(x.t(), x.t() + 9, rounding_mode="floor"), x[x > 0] / 2),
}


@pytest.fixture(autouse=True)
def captured(monkeypatch):
    """In one graph each, of which none runs in eager, and none by a bug."""

    def said(consequence, error):
        raise AssertionError(consequence) from error

    monkeypatch.setattr(compiling, "warn_of_bug", said)
    before = tally.counters().get("graphs_eager", 0)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield
    assert tally.counters().get("graphs_eager", 0) == before


def lies(results):
    return [tensor.stride() for tensor in torch.utils._pytree.tree_leaves(results)]


@pytest.mark.parametrize("name, dynamic", [
    *((name, False) for name in CASES), *((name, True) for name in ("mask", "item", "tolist", "index that lies otherwise"))])
def test_a_graph_with_unknown_sizes(name, dynamic):
    function = CASES[name]
    compiled = torch.compile(function, backend="stoker", fullgraph=True, dynamic=dynamic)
    for seed, size in ((0, 6), (1, 6), (2, 8)):
        x = torch.randn(size, 4, generator=torch.Generator().manual_seed(seed))
        torch.manual_seed(seed)
        expected = function(x)
        torch.manual_seed(seed)
        found = compiled(x)
        torch.testing.assert_close(found, expected)
        assert lies(found) == lies(expected)


def test_what_runs_in_pytorch_is_named_and_the_rest_compiled(evaluated, monkeypatch):  # noqa: F811
    named = {}
    monkeypatch.setattr(compiling, "_report", named.update)
    torch.compile(lambda x: (x[x > 0] * 2, x.exp() + 1), backend="stoker", fullgraph=True)(torch.randn(5))
    assert named == dict.fromkeys(("aten.index.Tensor", "aten.mul.Tensor"), "a size that only a run knows")
    (segment, _), = evaluated
    assert "exponential" in segment.text


def test_gradients():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 4)

    def loss(x):
        hidden = layer(x)
        return hidden[hidden > 0].sum() + hidden.exp().mean()

    compiled = torch.compile(loss, backend="stoker")
    for size in (3, 5):
        x = torch.randn(size, 4)
        expected = torch.autograd.grad(loss(x), list(layer.parameters()))
        torch.testing.assert_close(torch.autograd.grad(compiled(x), list(layer.parameters())), expected)


def steps_by_counts(layer, tail, evaluated):  # noqa: F811
    """How many segments there are after each."""
    def function(x):
        return tail(torch.cat([layer(x)[x[:, 0] > 0], layer(x).exp()])).tanh().sum()

    compiled = torch.compile(function, backend="stoker")
    made = []
    for count in (2, 3, 4, 5, 6, 7, 3, 2, 5):
        x = torch.ones(8, 4).index_fill(0, torch.arange(count, 8), -1.0)
        expected = torch.autograd.grad(function(x), list(layer.parameters()))
        torch.testing.assert_close(torch.autograd.grad(compiled(x), list(layer.parameters())), expected)
        made.append(len(evaluated))
    return made


def test_one_backward_graph_serves_every_count(evaluated, warnings, monkeypatch):  # noqa: F811
    monkeypatch.setattr(compiling, "_report", lambda fallbacks: None)
    made = steps_by_counts(torch.nn.Linear(4, 4), lambda x: x, evaluated)
    assert made[0] == made[-1] and warnings == []


def test_no_backward_graph_that_needs_numbers_is_compiled_for_every_count(evaluated, warnings, monkeypatch):  # noqa: F811
    monkeypatch.setattr(compiling, "_report", lambda fallbacks: None)
    monkeypatch.setattr(sizes, "MAX_VERSIONS_OF_A_RUN", 3)
    monkeypatch.setattr(tally, "count", lambda name: counted.append(name))
    counted, kernel = [], torch.randn(2, 4, 3)
    made = steps_by_counts(
        torch.nn.Linear(4, 4), lambda x: torch.nn.functional.conv1d(x.t()[None], kernel), evaluated)
    assert made[0] < made[1] < made[2] == made[-1] and counted.count("graphs_eager") == 1
    assert [warning for warning in warnings if "only a run knows them" in warning] == warnings[-1:]


def test_what_a_part_asserts_of_sizes_is_compiled_for_none():
    graph = torch.fx.Graph()
    count = graph.placeholder("count")
    graph.call_function(
        torch.ops.aten._assert_scalar.default, (graph.call_function(operator.le, (count, 4)), "Too many."))
    graph.output(())
    run = varying.function_of(torch.fx.GraphModule({}, graph), (), None, None, is_part=True)
    assert run([4]) == ()
    with pytest.raises(RuntimeError, match="Too many."):
        run([5])
