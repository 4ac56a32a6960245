"""Which inputs lie in each other's memory: beside each pair by itself, and what is asked again in later calls."""

import random

import pytest
import torch

from stoker.runtime import overlaps


def is_shared(inputs, changed):
    """Pair by pair."""
    extents = {
        place: (tensor.data_ptr(), tensor.data_ptr() + tensor.element_size() * (1 + sum(
            stride * (size - 1) for stride, size in zip(tensor.stride(), tensor.shape))))
        for place, tensor in enumerate(inputs) if tensor.numel()}
    return any(
        one != other and one in changed and extents[one][0] < extents[other][1] and extents[other][0] < extents[one][1]
        for one in extents for other in extents)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_each_pair_says(seed):
    generator = random.Random(seed)
    memory = torch.zeros(64)
    inputs = []
    for _ in range(generator.randrange(2, 12)):
        begin, size = generator.randrange(56), generator.randrange(8)
        step = generator.choice([1, 1, 2])
        inputs.append(generator.choice([memory[begin:begin + size:step], memory[begin:begin + size:step], torch.zeros(3)]))
    changed = frozenset(generator.sample(range(len(inputs)), generator.randrange(1, len(inputs))))
    assert overlaps._is_shared(*overlaps._extents(inputs), range(len(inputs)), changed) == is_shared(inputs, changed)


def test_every_call_is_told_apart():
    def compiled(*inputs):
        return "compiled"

    memory, numbers = torch.zeros(64), torch.zeros(8)
    run = overlaps.where_apart(compiled, lambda *_: "eager", (), (memory[:8], numbers), frozenset({0}))
    for _ in range(2):
        for _ in range(3):
            assert run(memory[:8], numbers) == "compiled"
        assert run(memory[:8], numbers) == "compiled"
        assert run(memory[:8], memory[8:16]) == "compiled"
        assert run(memory[:8], memory[7:15]) == "eager"
        assert run(memory[:8], memory[:8]) == "eager"
        assert run(memory[8:16], memory[:8]) == "compiled"


def test_sizes_that_vary_are_told_apart():
    memory = torch.zeros(64)
    run = overlaps.where_apart(
        lambda *_: "compiled", lambda *_: "eager", (), (8, memory[:8], memory[8:]), frozenset({1}))
    for _ in range(2):
        assert run(8, memory[:8], memory[8:]) == "compiled"
        assert run(9, memory[:9], memory[8:]) == "eager"


def test_what_comes_before_the_inputs_is_told_apart():
    memory, held = torch.zeros(64), [torch.zeros(8), torch.zeros(8)]
    run = overlaps.where_apart(lambda *_: "compiled", lambda *_: "eager", held, (memory[:8],), frozenset({1}))
    for _ in range(3):
        assert run(memory[:8]) == "compiled"
        assert run(held[0]) == "compiled"  # Which does not change.
        assert run(held[1]) == "eager"
    held[1].data = memory[4:12]
    assert run(memory[:8]) == "eager" and run(memory[12:20]) == "compiled"


def test_what_shared_memory_when_it_was_traced_is_never_compiled():
    memory = torch.zeros(64)
    run = overlaps.where_apart(lambda *_: "compiled", lambda *_: "eager", (), (memory[:8], memory[4:12]), frozenset({0}))
    assert run(memory[:8], memory[4:12]) == run(memory[:8], torch.zeros(8)) == "eager"
