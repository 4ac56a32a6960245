"""as_strided and its gradient, where they see all of one memory: views."""

import pytest
import torch

from lowered import graph_of, run_program
from stoker.lowering.lower import lower

aten = torch.ops.aten
LAST = torch.channels_last


def images(*shape):
    return torch.randn(shape).to(memory_format=LAST)


@pytest.mark.parametrize("function, make", [
    (lambda x: aten.as_strided((x + 1).mean((2, 3), True), [2, 5, 1, 1], [5, 1, 5, 5]) * 2, lambda: images(2, 5, 3, 4)),
    (lambda x: aten.as_strided(x + 1, [5, 24], [1, 5]).sin(), lambda: images(2, 5, 3, 4)),
    (lambda x: aten.as_strided(x + 1, [4, 3, 2], [6, 2, 1], 0).sin(), lambda: torch.randn(2, 3, 4)),
    (lambda x: aten.as_strided_scatter(x.new_zeros(24), x + 1, [2, 3, 4], [1, 2, 6], 0) * 2, lambda: torch.randn(2, 3, 4)),
    (lambda x: aten.as_strided_scatter(x + 1, x.sin(), [2, 5, 3, 4], [60, 1, 20, 5]) * 2, lambda: images(2, 5, 3, 4))])
def test_all_of_a_memory_is_seen_by_views(function, make):
    x = make()
    gm = graph_of(function, x)
    program = lower(gm, ())
    assert not program.fallbacks
    found, = run_program(gm, program, [x])
    expected = function(x)
    torch.testing.assert_close(found, expected)
    assert found.stride() == expected.stride()


@pytest.mark.parametrize("function", [
    lambda x: aten.as_strided(x + 1, [2, 2], [1, 1]) * 2, lambda x: aten.as_strided(x + 1, [3, 4], [4, 1], 2) * 2,
    lambda x: aten.as_strided_scatter(x + 1, x[:2], [2, 4], [4, 1]) * 2])
def test_parts_and_overlaps_are_not_seen_by_views(function):
    x = torch.randn(4, 4)
    gm = graph_of(function, x)
    program = lower(gm, ())
    torch.testing.assert_close(run_program(gm, program, [x])[0], function(x))
