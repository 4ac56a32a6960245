"""A text that libstoker refuses costs the operator for which it was said, not the graph."""

import pytest
import torch

from lowered import EvaluatedSegment
from stoker import backend
from stoker.libstoker.library import StokerError
from stoker.lowering import compiling
from stoker.lowering.uncompiled import refused
from test_backend import compiled, warnings  # noqa: F401: a fixture.


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    """Of what was compiled. No sine is taken."""
    torch._dynamo.reset()
    texts = []

    def make(segment, *_):
        with refused.told_of(segment):
            for number, line in enumerate(segment.text.splitlines(), 1):
                if "= sine(" in line:
                    raise StokerError(1, f"Line {number}: Node {number - 2} (sine): It is not taken.")
        texts.append(segment.text)
        return EvaluatedSegment(segment)

    monkeypatch.setattr(compiling, "_executable", make)
    return texts


def test_the_operator_runs_in_pytorch(texts, warnings):  # noqa: F811
    x = torch.randn(3, 4)
    torch.testing.assert_close(
        compiled(lambda x: (x + 1).exp().sin() * 2 + x.cos().sin())(x), (x + 1).exp().sin() * 2 + x.cos().sin())
    text, = texts
    assert text.count("aten.sin.default") == 2 and "exponential" in text and "multiply" in text
    assert warnings == [
        "aten.sin.default runs in eager PyTorch: invalid argument: Line 5: Node 3 (sine): It is not taken."]


def test_sizes_that_vary(texts):
    function = compiled(lambda x: (x + 1).sin() * 2, dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(function(x), (x + 1).sin() * 2)
    assert texts


def test_too_many_cost_the_graph(texts, warnings):  # noqa: F811
    def function(x):
        for _ in range(refused.MAX_REFUSED + 1):
            x = x.sin() + 1
        return x

    x = torch.randn(3)
    torch.testing.assert_close(torch.compile(function, backend=backend.stoker)(x), function(x))
    assert not texts and warnings[0].startswith("a graph runs in eager: invalid argument: Line ")


def test_a_head_is_no_operator_s():
    with pytest.raises(StokerError) as found, refused.told_of(_Segment(("sin",))):
        raise StokerError(4, "Line 1: A type has more than 8 dimensions.")
    assert not isinstance(found.value, refused.Refused)


class _Segment:
    def __init__(self, makers):
        self.makers = makers
