"""as_strided of what a graph computes counts elements as eager PyTorch does, wherever kernels wrote them."""

import pytest
import torch

from stoker import backend
from test_backend import evaluated  # noqa: F401: a fixture.


def _after_an_update(x):
    before = x.as_strided((1,), (3,), x.storage_offset())
    x.copy_(x.clone() + 1)
    return before * 2


def _a_view_of_an_update(x):
    rows = x[2:3]
    rows[0, torch.tensor([3, 5])] = -1.0
    return (rows.as_strided((3, 3), (3, 1)),)


def _an_update_by_strides(x):
    y = x.exp()
    y.as_strided((3,), (2,), 1).mul_(3)
    return y, y.sum()


FUNCTIONS = {
    "computed": lambda x: ((x * 2).as_strided((3, 4), (1, 2)), x + 1),
    "transposed": lambda x: (x + 1).t().as_strided((2, 3), (1, 2), 1) * 2,
    "a part": lambda x: (x + 1)[1:].as_strided((2, 2), (1, 1), 9) + 1,
    "what is before a part": lambda x: (x + 1)[1:].as_strided((2, 2), (1, 1), 0) + 1,
    "copies": lambda x: torch.as_strided_copy(x * 2, (2, 2), (2, 1), 1),
    "scattered": lambda x: torch.as_strided_scatter(x * 3, torch.zeros(2, 2), (2, 2), (2, 1), 1),
    "scattered, transposed": lambda x: torch.as_strided_scatter((x * 3).t(), torch.zeros(2, 2), (2, 2), (2, 1), 1),
    "nothing": lambda x: (x * 2).as_strided((0, 3), (1, 1)),
    "after an update": _after_an_update,
    "a view of an update": _a_view_of_an_update,
    "an update by strides": _an_update_by_strides,
}
# Of numbers counted up; each gives 6 by 8.
INPUTS = {
    "whole": lambda numbers: numbers[:48].view(6, 8),
    "behind others": lambda numbers: numbers[90:138].view(6, 8),
    "every second column": lambda numbers: numbers[:120].view(6, 20)[:, 1:17:2],
    "transposed": lambda numbers: numbers[:48].view(8, 6).t(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("lies", INPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_are_those_of_eager(evaluated, name, lies, dynamic):  # noqa: F811
    compiled = torch.compile(FUNCTIONS[name], backend=backend.stoker, dynamic=dynamic)
    given, expected = (INPUTS[lies](torch.arange(500.0) / 50) for _ in range(2))
    torch.testing.assert_close(compiled(given), FUNCTIONS[name](expected))
    torch.testing.assert_close(given, expected)


def test_what_is_computed_is_counted_in_kernels(evaluated):  # noqa: F811
    torch.compile(FUNCTIONS["transposed"], backend=backend.stoker)(torch.arange(48.0).view(6, 8))
    assert "gather" in evaluated[0][0].text
