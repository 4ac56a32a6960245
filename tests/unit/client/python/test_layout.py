import pytest
import torch

from stoker.graph.layout import layout_of, row_major

X = torch.empty(2, 3, 4)


@pytest.mark.parametrize("tensor, order", [
    (X, (0, 1, 2)), (X.permute(2, 0, 1), (1, 2, 0)), (X[:, 1:], None), (X[..., ::2], None),
    (X[:1].expand(5, 3, 4), None), (X[:1], (0, 1, 2)), (torch.empty(()), ()),
    (torch.empty(0, 3).t(), (0, 1)), (torch.empty(1, 5).t(), (0, 1)),
    (torch.empty(2, 8, 4, 5).to(memory_format=torch.channels_last), (0, 2, 3, 1))])
def test_order(tensor, order):
    layout = layout_of(tensor)
    assert layout.order == order
    if order is not None:
        assert tensor.permute(order).is_contiguous()
        assert tensor.permute(order).permute(layout.places).shape == tensor.shape


def test_overlap():
    assert layout_of(torch.empty(1, 3).expand(2, 3)).overlaps
    assert not layout_of(X[:, 1:]).overlaps


@pytest.mark.parametrize("shape", [(2, 3, 4), (), (1,), (5, 1)])
def test_row_major(shape):
    assert row_major(shape).strides == torch.empty(shape).stride()
