"""Do tensors lie where they lay? Beside data_ptr(), after everything that moves one, by the extension and without it."""

import random

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from stoker.pytorch.native import addresses
from stoker.pytorch.native.addresses import Addresses
from stoker.libstoker.extension import extension
from stoker.pytorch.native.tensor_layout import learn_tensors
from stoker.pytorch.tensors import keys_number


@pytest.fixture(params=["extension", "PyTorch", "one by one"])
def way(request, monkeypatch):
    if request.param == "extension":
        if extension() is None:
            pytest.skip("stoker_guards is not built")
    else:
        monkeypatch.setattr(addresses, "extension", lambda: None)
    if request.param == "one by one":
        monkeypatch.setattr(addresses, "_lie_at", addresses._lie_at_one_by_one)


def moved_data(tensor):
    tensor.data = tensor.data.clone()


def other_offset(tensor):
    tensor.data = torch.zeros(tensor.numel() + 4, dtype=tensor.dtype)[4:].view(tensor.shape)


def set_to_another(tensor):
    with torch.no_grad():
        tensor.set_(torch.zeros_like(tensor))


def larger_storage(tensor):
    tensor.data.untyped_storage().resize_(1 << 20)


def nothing(tensor):
    with torch.no_grad():
        tensor.add_(1)


CHANGES = [moved_data, other_offset, set_to_another, larger_storage, nothing]


def made(generator):
    kind = generator.randrange(5)
    if kind == 0:
        return torch.nn.Parameter(torch.randn(3, 5))
    if kind == 1:
        return torch.zeros(40, dtype=torch.float16)[8:]
    if kind == 2:
        return torch.zeros((), dtype=torch.int64)
    if kind == 3:
        return torch.zeros(2, 1, 2, 1, 2, 1, 2)
    return torch.randn(7, 6).t()


@pytest.mark.parametrize("seed", range(4))
def test_what_moves_is_seen(way, seed):
    generator = random.Random(seed)
    for count in (1, 31, 33, 100):
        values = [made(generator) for _ in range(count)]
        places = sorted(generator.sample(range(count), max(1, count * 2 // 3)))
        known, known_versions = Addresses(values, places), Addresses(values, places, with_versions=True)
        for _ in range(30):
            was = [values[place].data_ptr() for place in places]
            versions = [values[place]._version for place in places]
            assert known.are_of(list(values)) and known_versions.are_of(list(values))
            changed = generator.randrange(count)
            before = values[changed]
            if generator.random() < 0.3:
                values[changed] = generator.choice([lambda x: x.clone(), lambda x: x.detach()])(before)
            else:
                try:
                    generator.choice(CHANGES)(before)
                except RuntimeError:
                    continue  # A view of another's storage cannot be changed so.
            same = [values[place].data_ptr() for place in places] == was
            assert known.are_of(values) == same
            same_versions = [values[place]._version for place in places] == versions
            assert known_versions.are_of(values) == (same and same_versions)
            known, known_versions = Addresses(values, places), Addresses(values, places, with_versions=True)


def test_a_view_of_the_same_memory_lies_there_too(way):
    base = torch.arange(12.0)
    known = Addresses([base, base[4:]], [0, 1])
    assert known.are_of([base.view(3, 4), base[4:]])
    assert not known.are_of([base[4:], base])
    assert not known.are_of([base, base[5:]])


def test_tensors_without_elements_lie_anywhere(way):
    known = Addresses([torch.zeros(0, 3), torch.zeros(5)[2:2]], [0, 1])
    assert known.are_of([torch.zeros(7, 3)[3:3], torch.zeros(0)])


def test_numbers_between_are_not_looked_at(way):
    tensor = torch.zeros(3)
    known = Addresses([3, tensor, None], [1])
    assert known.are_of([4, tensor, "x"]) and not known.are_of([3, torch.ones(3), None])


@pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
def test_what_is_no_tensor_or_has_no_memory_lies_nowhere():
    tensor = torch.zeros(3)
    known = Addresses([tensor], [0])
    for other in ([], [None], [3], [object], [torch.sparse_coo_tensor(size=(3,))], [torch.zeros(3, device="meta")]):
        assert not known.are_of(other)
    assert extension().addresses_of([torch.sparse_coo_tensor(size=(3,))], [0], torch.Tensor, False) is None
    assert extension().addresses_of([3], [0], torch.Tensor, False) is None
    for arguments in (([], [0], torch.Tensor, False), ([tensor], ["0"], torch.Tensor, False)):
        with pytest.raises((IndexError, TypeError)):
            extension().addresses_of(*arguments)


@pytest.mark.parametrize("change", [
    lambda x: x.add_(1), lambda x: x.detach().zero_(), lambda x: x[1:].mul_(2), lambda x: x.view(-1).copy_(torch.ones(3)),
    lambda x: x.set_(x.untyped_storage(), 0, (3,), (1,))])
def test_what_changes_in_place_is_another_version(way, change):
    tensor = torch.zeros(3)
    known, other = Addresses([tensor], [0], with_versions=True), Addresses([tensor], [0])
    assert known.are_of([tensor]) and known.are_of([tensor.detach()])
    change(tensor)
    assert not known.are_of([tensor]) and other.are_of([tensor])


def test_what_counts_no_versions_is_another(way):
    tensor = torch.zeros(3)
    known = Addresses([tensor], [0], with_versions=True)
    with torch.inference_mode():
        made = torch.zeros(3)
        assert not known.are_of([made]) and known.are_of([tensor])


@pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
@pytest.mark.parametrize("with_versions", (False, True))
def test_the_memory_of_storages_and_what_counts_versions_are_found(with_versions):
    assert learn_tensors() and extension().addresses_of([torch.zeros(3)], [0], torch.Tensor, with_versions) is not None


@pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
def test_tensors_are_looked_at_within_a_mode_too():
    learn_tensors.cache_clear()
    try:
        with FakeTensorMode():
            learn_tensors()
    finally:
        learn_tensors.cache_clear()
        assert learn_tensors()


@pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
def test_memory_that_cannot_be_told_from_what_frees_it_is_not_known():
    own = torch.empty_strided((2, 3), (7, 2), dtype=torch.float64, device="cpu")
    try:
        assert extension().learn_tensors(own, keys_number(own))
        assert extension().addresses_of([torch.zeros(3)], [0], torch.Tensor, False) is None
    finally:
        learn_tensors.cache_clear()
        assert learn_tensors()
