"""What a capture says of a graph is looked at before the graph runs: damage is a ValueError, so that the start is traced."""

import copy
import json

import pytest
import torch

from stoker.captures.install.graphs import make_callable
from stoker.captures.words.graphs import encode_eager

CPU = torch.device("cpu")


def _eager(function, count):
    graph = torch.fx.symbolic_trace(function).graph
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    assert len(graph.find_nodes(op="placeholder")) == count
    return encode_eager(module)


def words():
    """Of y = x * 2, with y.t() beside it and x saved."""
    view = _eager(lambda y: (torch.ops.aten.t.default(y),), 1)
    return json.loads(json.dumps({
        "program": {"outputs": [None] * 3},
        "runtime": {
            "inputs": 1, "mutated": [], "bases": 0, "grad": None,
            "outputs": [["plain", None, 0, True, ""], ["alias_of_intermediate_base_is_user_output", 0, 0, True, ""]],
            "views": [None, view],
            "training": {
                "fixed": [], "aliases": [1], "unsafe_views": [], "inputs_saved": [True], "inputs_saved_unchecked": [],
                "numbers": 0, "tangents": [[0, [[2, 3], [3, 1]]]], "without_gradient": [], "deterministic": False}},
        "eager": _eager(lambda x: ((y := torch.ops.aten.mul.Tensor(x, 2)), torch.ops.aten.t.default(y), x), 1),
        "backward": {
            "eager": _eager(lambda x, gradient: (torch.ops.aten.mul.Tensor(gradient, 2),), 2),
            "runtime": {"inputs": 2, "mutated": [], "tangents": 1}}}))


def made(record):
    def forward(arguments):
        x, = arguments
        y = x * 2
        return [y, y.t(), x]

    return make_callable(record, forward, lambda arguments: [arguments[1] * 2], CPU, pytest.fail, None)


def test_whole_ones_train():
    x = torch.randn(2, 3, requires_grad=True)
    y, turned = made(words())(x)
    (y.sum() + (turned * torch.arange(6.0).reshape(3, 2)).sum()).backward()
    torch.testing.assert_close(x.grad, 2 + 2 * torch.arange(6.0).reshape(3, 2).t())
    assert turned._base is y or turned._base is y._base


DAMAGE = [
    ("runtime inputs", None), ("runtime inputs", -1), ("runtime bases", "x"), ("runtime grad", 7777), ("runtime grad", 0),
    ("runtime outputs 1 0", "os.system"), ("runtime outputs 0 0", None), ("runtime outputs 1 1", -1), ("runtime outputs 1 1", 2),
    ("runtime outputs 1 1", True), ("runtime outputs 0 2", 0.5), ("runtime outputs 0 3", None), ("runtime outputs 0 3", []),
    ("runtime outputs 0 4", "after"), ("runtime views", []), ("runtime views", None), ("runtime mutated", [[1, True]]),
    ("runtime mutated", [[0, 1]]), ("runtime training fixed", [3]), ("runtime training aliases 0", -2),
    ("runtime training unsafe_views", [7777]), ("runtime training inputs_saved", []),
    ("runtime training inputs_saved", [True, False]), ("runtime training inputs_saved", [1]),
    ("runtime training inputs_saved_unchecked", None), ("runtime training numbers", 7777), ("runtime training numbers", "0"),
    ("runtime training tangents", []), ("runtime training tangents 0 0", -2), ("runtime training tangents 0 0", 1.5),
    ("runtime training tangents 0 1", "strided"), ("runtime training tangents 0 1 0 0", -1),
    ("runtime training tangents 0 1 1", [3]), ("runtime training tangents 0 1 1 1", 1.5),
    ("runtime training without_gradient", [1]), ("runtime training deterministic", 0), ("program outputs", [None]),
    ("backward runtime inputs", 3)]


@pytest.mark.parametrize("path, value", DAMAGE, ids=[f"{path}-{value}" for path, value in DAMAGE])
def test_damaged_ones_are_refused(path, value):
    record = copy.deepcopy(words())
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split()]
    within = record
    for step in steps:
        within = within[step]
    within[last] = value
    with pytest.raises((ValueError, TypeError, KeyError)):
        made(record)
