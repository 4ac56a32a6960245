"""What a model computes, as shares of the peak are of it."""

import io
import json

import torch

import measure


def test_attention_that_is_one_operator_in_eager_is_counted(monkeypatch):
    rows, width, heads, hidden = 4, 8, 2, 16
    layer = torch.nn.TransformerEncoderLayer(width, heads, hidden, batch_first=True).eval()
    monkeypatch.setattr(measure, "build", lambda *_: (layer, torch.randn(1, rows, width)))
    fast = torch.backends.mha.get_fastpath_enabled()
    try:
        with torch.no_grad():
            _, flops = measure.reference("", "", 1)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    products = rows * width * 3 * width + rows * width * width + 2 * rows * width * hidden
    assert flops == 2 * (products + 2 * rows * rows * width)


def test_a_later_result_that_is_wrong_is_told(monkeypatch, capsys):
    results = iter([torch.ones(4), torch.zeros(4), torch.full((4,), float("nan")), torch.ones(4)])
    monkeypatch.setattr("sys.stdin", io.StringIO("check\n" * 4))
    measure.take_turns(lambda: next(results), {"rel_err": 1e-7}, torch.ones(4).double())
    first, second, third, fourth = [json.loads(line)["rel_err"] for line in capsys.readouterr().out.splitlines()]
    assert (first, second) == (1e-7, 1.0) and third != third and fourth != fourth
