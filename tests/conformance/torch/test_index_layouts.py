"""Results of advanced indexing lie as in eager PyTorch, and so does what is computed from them."""

import pytest
import torch

from stoker import backend
from test_backend import evaluated  # noqa: F401: a fixture.

FUNCTIONS = {
    "rows": lambda x, i: x[i],
    "transposed index": lambda x, i: x[i.t()],
    "transposed tensor": lambda x, i: x.transpose(0, 1)[i],
    "both": lambda x, i: x.transpose(0, 2)[i.t()],
    "columns": lambda x, i: x[:, i.t()],
    "last": lambda x, i: x[..., i.t()],
    "two": lambda x, i: x[i.t(), i.t().contiguous()],
    "two of one row": lambda x, i: x[i.t(), i.t()[:1]],
    "apart": lambda x, i: x[i.t(), :, i.t()],
    "all": lambda x, i: x[i.t(), i.t(), i.t()],
    "computed from": lambda x, i: x[i.t()].exp() * 2,
    "a dim of one, in front": lambda x, i: x.permute(2, 1, 0)[None, i, 2],
    "dims of one in the index": lambda x, i: x[i.t()[None, :, None], i.t()[:, :, None]],
    "dims of one, apart": lambda x, i: x.transpose(0, 2)[i[None].transpose(0, 2), :, i.t()[..., None]],
    "of three dims": lambda x, i: x[i[..., None].expand(*i.shape, 2).permute(2, 1, 0)],
}


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lie_as_in_eager(evaluated, name, dynamic):  # noqa: F811
    function = FUNCTIONS[name]
    compiled = torch.compile(lambda x, i: function(x, i), backend=backend.stoker, dynamic=dynamic)
    for shape, places in (((5, 6, 7), (4, 3)), ((7, 8, 5), (5, 4))):
        x, i = torch.randn(shape), torch.randint(0, 3, places)
        expected, found = function(x, i), compiled(x, i)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
    assert evaluated
