import pytest
import torch

from stoker.aten_ops.rules.registry import promote
from stoker.graph.layout import DTYPES
from stoker.graph.values import Value

TENSORS = [(dtype, shape) for dtype in DTYPES for shape in ((2,), ())]


@pytest.mark.parametrize("first", TENSORS, ids=str)
def test_promotion_is_pytorchs(first):
    def both(dtype, shape):
        return torch.empty(shape, dtype=dtype), Value(None, DTYPES[dtype], shape)

    tensor, value = both(*first)
    for second in TENSORS:
        other, other_value = both(*second)
        assert promote(value, other_value) == DTYPES[torch.result_type(tensor, other)], second
    for scalar in (True, 3, 2.5):
        assert promote(value, scalar) == DTYPES[torch.result_type(tensor, scalar)], scalar


