"""Which changes of parameters are seen. Each test changes one of several parameters in one way."""

import pytest
import torch

from stoker.runtime.binding import Stamp


def parameters():
    return (
        torch.nn.Parameter(torch.arange(12.0).reshape(3, 4)), torch.zeros(5, dtype=torch.bfloat16),
        torch.ones(4, 4).t(), torch.zeros(0), torch.tensor(True), torch.tensor(3))


def test_unchanged_parameters_fit():
    held = parameters()
    assert Stamp(held).fits(held)


@pytest.mark.parametrize("name, change", [
    ("in-place operation", lambda x: x.mul_(2).add_(1)),
    ("new data", lambda x: setattr(x, "data", x.detach().clone())),
    ("write through data", lambda x: x.data.add_(1)),
    ("write through numpy", lambda x: x.detach().numpy().__iadd__(1)),
    ("copy", lambda x: x.copy_(x + 1))], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("place", [0, 2])
def test_change_is_seen(name, change, place):
    held = parameters()
    stamp = Stamp(held)
    with torch.no_grad():
        change(held[place])
    assert not stamp.fits(held)


def test_other_tensor_is_seen():
    held = parameters()
    stamp = Stamp(held)
    assert not stamp.fits((torch.nn.Parameter(held[0].detach().clone()), *held[1:]))


def test_address_is_not_reused_while_the_stamp_lives():
    """Moving a parameter away and back to equal memory must not look like no change."""
    parameter = torch.nn.Parameter(torch.zeros(1024))
    stamp = Stamp((parameter,))
    parameter.data = torch.empty(0)
    parameter.data = torch.zeros(1024)
    assert not stamp.fits((parameter,))


def test_inference_tensors_have_no_version():
    with torch.inference_mode():
        tensor = torch.zeros(4)
    stamp = Stamp((tensor,))
    assert stamp.fits((tensor,))
    with torch.inference_mode():
        tensor.add_(1)
    assert not stamp.fits((tensor,))


@pytest.mark.parametrize("place", [0, 77_777, 299_999])
def test_one_element_of_a_large_inference_tensor_is_seen(place):
    with torch.inference_mode():
        tensor = torch.zeros(300_000)
    stamp = Stamp((torch.zeros(300_000), tensor))
    with torch.inference_mode():
        tensor[place] = 1
    assert not stamp.fits((stamp.memory[0], tensor))


def test_one_element_of_small_weights_is_seen():
    held = torch.zeros(64, 64), torch.zeros(64, 128)
    for tensor in held:
        for place in range(0, tensor.numel(), 313):
            stamp = Stamp(held)
            tensor.detach().numpy().reshape(-1)[place] += 1
            assert not stamp.fits(held)


def test_inference_tensor_in_place_of_a_parameter_does_not_fit():
    stamp = Stamp((torch.zeros(4),))
    with torch.inference_mode():
        assert not stamp.fits((torch.zeros(4),))


@pytest.mark.parametrize("part", [
    (slice(None), 3), (5, slice(None)), (slice(0, 20), slice(None)), (slice(None), slice(40, 64))],
    ids=["column", "row", "rows", "columns"])
def test_write_through_data_to_part_of_a_small_matrix(part):
    """A column of 64 or a third of the rows are seen; a single row in many may not be."""
    parameter = torch.nn.Parameter(torch.zeros(8, 8) if isinstance(part[1], int) or part[0] == 5
                                   else torch.zeros(64, 64))
    stamp = Stamp((parameter,))
    parameter.data[part] += 1
    assert not stamp.fits((parameter,))


def test_numbers_are_equal_exactly_while_the_content_is():
    """Executables of the same parameters share what they prepare, and never something stale."""
    held = parameters()
    first = Stamp(held)
    assert Stamp(held).numbers == first.numbers
    held[0].data.add_(1)
    second = Stamp(held)
    assert second.numbers[0] != first.numbers[0]
    assert second.numbers[1:] == first.numbers[1:]
    with torch.no_grad():
        held[0].data.sub_(1)
        held[0].add_(0)
    assert Stamp(held).numbers[0] not in (first.numbers[0], second.numbers[0])


def test_views_of_one_memory_have_numbers_of_their_own():
    whole = torch.zeros(4, 4)
    one, other = Stamp((whole, whole[:2])).numbers
    assert one != other


@pytest.mark.parametrize("size", (0, 64))
def test_memory_that_was_taken_away_is_not_read(size):
    held = parameters()
    held[0].untyped_storage().resize_(size // 4)
    stamp_of_others = Stamp(held[1:])
    assert stamp_of_others.fits(held[1:])
    with pytest.raises(RuntimeError, match=f"requiring a storage size of 48 are out of bounds for storage of size {size // 4}"):
        Stamp(held)
