"""What is said of a tensor's elements holds for all sizes; masks that models make are known by it."""

import math

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from stoker.lowering.elements import Elements
from stoker.lowering.elements.line import Kept
from stoker.lowering.symbols import Typed

SIZES = [(2, 5, 5), (3, 4, 7), (1, 6, 6), (2, 1, 4), (4, 3, 2), (2, 8, 8)]


def places(x, dim):
    return torch.arange(x.shape[dim], device=x.device)


def causal(x):
    return places(x, 2)[None, None, None, :] <= places(x, 1)[None, None, :, None]


def full(x):
    return (places(x, 1)[:, None] >= 0).expand(x.shape[0], 1, x.shape[1], x.shape[2])


def of_both(x):
    return (causal(x) & full(x)).expand(x.shape[0], -1, -1, -1)


def packed(x):
    """As transformers makes it of positions that it has counted itself."""
    positions = places(x, 1)[None].expand(x.shape[0], -1)
    starts = torch.diff(positions, prepend=positions[:, :1] - 1, dim=-1) != 1
    sequence = starts.cumsum(-1)
    batch = torch.arange(x.shape[0])[:, None, None, None]
    q, k = (torch.arange(x.shape[1])[at] for at in ((None, None, slice(None), None), (None, None, None, slice(None))))
    same = sequence[batch, q] == sequence[batch, k]
    return (same & (positions[batch, k] <= positions[batch, q])).expand(x.shape[0], -1, x.shape[1], x.shape[1])


def added(x):
    return torch.where(causal(x), 0.0, -math.inf)


def added_as_cudnn_has_it(x):
    return torch.where(places(x, 2)[None, :] > places(x, 1)[:, None], -65504.0, 0.0)


def after_an_offset(x):
    return places(x, 1)[:, None] + (x.shape[2] - x.shape[1]) >= places(x, 2)[None, :]


def up_to_a_size(x):
    return (places(x, 2) < x.shape[2] - 1).expand(x.shape[1], -1)


def beyond_32_bits(x):
    return (places(x, 2).to(torch.int32) + 2147483647 >= 0).expand(x.shape[1], -1)


def summed_beyond_32_bits(x):
    return (torch.full((x.shape[2],), 1 << 30, dtype=torch.int32).cumsum(0, dtype=torch.int32) >= 0).expand(x.shape[1], -1)


def converted_to_32_bits(x):
    return ((places(x, 2) + 2147483647).to(torch.int32) >= 0).expand(x.shape[1], -1)


def of_32_bits(x):
    return places(x, 2).to(torch.int32)[None, :] <= places(x, 1).to(torch.int32)[:, None]


def beside_nothing(x):
    return torch.cat([torch.zeros(0, dtype=torch.int64), places(x, 1)[:, None]], 1) >= places(x, 2)[None, :]


def filled(x):
    scores = torch.zeros(x.shape[1], x.shape[2])
    return scores.masked_fill(~(places(x, 2)[None, :] <= places(x, 1)[:, None]), -math.inf)


def above(x):
    return torch.full((x.shape[1], x.shape[2]), -math.inf).triu(1)


def lower(x):
    return torch.ones(x.shape[1], x.shape[2], dtype=torch.bool).tril()


def not_above(x):
    return ~torch.ones(x.shape[1], x.shape[2], dtype=torch.bool).triu(diagonal=1)


def padded(x):
    mask = torch.where(causal(x), 0.0, -math.inf)
    return torch.nn.functional.pad(mask, (0, 3))[..., :x.shape[2]]


def with_diagonal_above(x):
    return places(x, 2)[None, :] <= places(x, 1)[:, None] + 1


def strictly(x):
    return places(x, 2)[None, :] < places(x, 1)[:, None]


def of_a_window(x):
    difference = places(x, 1)[:, None] - places(x, 2)[None, :]
    return (difference >= 0) & (difference < 3)


def upside_down(x):
    return places(x, 1)[:, None] <= places(x, 2)[None, :]


def of_numbers(x):
    return causal(x) & (x[:, None] < 2)


def of_every_other(x):
    return (2 * torch.ones_like(places(x, 2)))[None, :] * places(x, 2)[None, :] <= places(x, 1)[:, None]


def from_a_place_on(x):
    return places(x, 2)[None, :] <= torch.arange(1, x.shape[1] + 1)[:, None]


def backwards(x):
    return torch.arange(x.shape[2] - 1, -1, -1)[None, :] <= places(x, 1)[:, None]


def as_other_bits(x):
    return places(x, 2)[None, :].view(torch.float64) <= places(x, 1)[:, None].view(torch.float64)


def joined(x):
    first = torch.cat([torch.zeros(1, dtype=torch.int64), places(x, 1) + 1])[1:] - 1
    return places(x, 2)[None, :] <= first[:, None]


def joined_with_a_gap(x):
    first = torch.cat([torch.zeros(1, dtype=torch.int64), places(x, 1) + 2])
    return torch.arange(x.shape[2] + 1)[None, :] <= first[:, None]


def one_of_them(x):
    return (places(x, 2)[None, :] <= places(x, 1)[:, None]) | (places(x, 2)[None, :] < 0)


MASKS = {
    causal: "causal", full: "full", of_both: "causal", packed: "causal", added: "causal",
    filled: "causal", above: "causal", lower: "causal", not_above: "causal", padded: "causal", joined: "causal",
    one_of_them: "causal", of_32_bits: "causal",
    added_as_cudnn_has_it: None, after_an_offset: None, up_to_a_size: None, beyond_32_bits: None, summed_beyond_32_bits: None,
    converted_to_32_bits: None,
    with_diagonal_above: None, strictly: None, of_a_window: None, upside_down: None, of_numbers: None, of_every_other: None,
    from_a_place_on: None, backwards: None, as_other_bits: None, beside_nothing: None, joined_with_a_gap: None}


def traced(make, mode="symbolic"):
    x = torch.zeros(2, 5, 7)
    gm = make_fx(make, tracing_mode=mode)(x)
    return Typed(gm, [x], {}).gm if mode == "symbolic" else gm


def result_of(gm):
    return gm.graph.output_node().args[0]


def described(told, tensor):
    """The tensor that a Line or Kept stands for."""
    line = told.line if isinstance(told, Kept) else told
    total = torch.full(tensor.shape, line.first, dtype=torch.float64)
    for dim, step in enumerate(line.steps):
        shape = [-1 if each == dim else 1 for each in range(tensor.dim())]
        total = total + step * torch.arange(tensor.shape[dim]).reshape(shape)
    if not isinstance(told, Kept):
        return total
    return torch.where(total >= 0, 0.0, -math.inf) if told.is_added else total >= 0


class Checked(torch.fx.Interpreter):
    """Runs a graph with real sizes, and compares each value with what is said of it."""

    def __init__(self, gm, elements):
        super().__init__(gm)
        self.elements, self.told = elements, 0

    def run_node(self, n):
        result = super().run_node(n)
        told = self.elements.of(n)
        if told is not None:
            self.told += 1
            found = described(told, result)
            is_added = isinstance(told, Kept) and told.is_added
            real = torch.where(result <= self.elements.least, -math.inf, result) if is_added else result
            assert torch.equal(found.to(real.dtype), real), n.format_node()
        return result


@pytest.mark.parametrize("make", MASKS, ids=lambda make: make.__name__)
def test_what_is_said_holds_for_all_sizes(make):
    gm = traced(make)
    elements = Elements()
    for sizes in SIZES:
        run = Checked(gm, elements)
        run.run(torch.zeros(sizes))
        assert run.told or MASKS[make] is None


@pytest.mark.parametrize("mode", ["symbolic", "real"])
@pytest.mark.parametrize("make", MASKS, ids=lambda make: make.__name__)
def test_patterns_of_masks(make, mode):
    gm = traced(make, mode)
    mask = result_of(gm)
    shape = mask.meta["val"].shape
    assert Elements().pattern(mask, *shape[-2:]) == MASKS[make]
    if MASKS[make] == "causal":  # Of other queries it is no triangle.
        assert Elements().pattern(mask, shape[-2] + 1, shape[-1]) is None


def test_what_stands_for_infinity_is_up_to_the_operator():
    mask = result_of(traced(added_as_cudnn_has_it))
    shape = mask.meta["val"].shape
    assert Elements(-65504).pattern(mask, *shape) == "causal"
    assert Elements(-65505).pattern(mask, *shape) is None


@pytest.mark.parametrize("queries, keys", [(1, 1), (1, 4), (4, 1)])
def test_dims_of_one_element(queries, keys):
    def make(x):
        return torch.arange(keys)[None, :] <= torch.arange(queries)[:, None]

    expected = "full" if keys == 1 else "causal"
    assert Elements().pattern(result_of(traced(make, "real")), queries, keys) == expected


def test_places_that_may_not_be_there_say_nothing():
    """An index out of bounds fails: what it is asked for is not left out."""
    def make(x):
        kept = places(x, 1)[torch.arange(x.shape[1] + 1)]
        return places(x, 1)[None, :] <= kept[:, None]

    assert Elements().of(result_of(traced(make))) is None
