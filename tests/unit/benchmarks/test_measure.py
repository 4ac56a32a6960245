"""What a model computes, as shares of the peak are of it."""

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
