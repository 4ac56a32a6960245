"""Places of equal elements are those that eager PyTorch's kernels take."""

import pytest
import torch

import stoker
from stoker import backend
from test_backend import evaluated  # noqa: F401: a fixture.

PLACES = {
    "topk": lambda x: x.topk(9),
    "topk of columns": lambda x: x.topk(9, 0, largest=False),
    "kthvalue": lambda x: x.kthvalue(17, 0),
    "median": lambda x: x.median(1),
    "nanmedian": lambda x: x.nanmedian(0),
    "mode": lambda x: x.mode(1),
    "sort": lambda x: x.sort(1),
    "sort of columns": lambda x: x.sort(0, descending=True),
    "argsort": lambda x: x.argsort(1),
    "stable": lambda x: torch.sort(x, dim=0, stable=True),
    "stable argsort": lambda x: torch.argsort(x, dim=1, descending=True, stable=True),
    "cummax": lambda x: x.cummax(1),
    "max": lambda x: x.max(0),
    "of rows with one element": lambda x: x[:, :1].sort(1),
}
VALUES = {
    "topk": lambda x: x.topk(9).values * 2,
    "kthvalue": lambda x: x.kthvalue(17, 0).values * 2,
    "median": lambda x: x.median(1).values * 2,
    "sort": lambda x: x.sort(1).values * 2,
}


UNSORTED = {
    "topk": lambda x: x.topk(9, sorted=False).values * 2,
    "all": lambda x: x.topk(33, largest=False, sorted=False).values * 2,
}


def _check(function, **settings):
    compiled = torch.compile(lambda x: function(x * 2), backend=backend.stoker, **settings)
    for rows in (65, 40):
        x = torch.randint(0, 4, (rows, 33), generator=torch.Generator().manual_seed(rows)).float()
        torch.testing.assert_close(compiled(x), function(x * 2), rtol=0, atol=0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_places_are_those_of_eager(evaluated, name, dynamic):  # noqa: F811
    _check(PLACES[name], dynamic=dynamic)
    assert evaluated


@pytest.mark.parametrize("name", VALUES)
def test_values_alone_are_ours(evaluated, name):  # noqa: F811
    before = stoker.fallback_ops()
    _check(VALUES[name])
    assert evaluated and not any("extern_call" in segment.text for segment, _ in evaluated)
    assert stoker.fallback_ops() == before


@pytest.mark.parametrize("name", UNSORTED)
def test_values_that_are_not_sorted_are_in_the_order_of_eager(evaluated, name):  # noqa: F811
    _check(UNSORTED[name])
    assert evaluated
