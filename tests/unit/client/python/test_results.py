"""How results of PyTorch's operators get into a plan's memory."""

import pytest
import torch

from stoker.graph import dims
from stoker.graph.host_call import HostCall, NoHostCall, View
from stoker.runtime.host_calls import _copy_of
from stoker.runtime.memory import Memory
from stoker.runtime.results import writer_of

aten = torch.ops.aten
A, B, C = torch.randn(3, 4), torch.randn(4, 5), torch.randn(5)


@pytest.mark.parametrize("operator, arguments, keywords", [
    (aten.mm.default, [A, B], {}), (aten.addmm.default, [C, A, B], {"beta": 2, "alpha": 3}),
    (aten.bmm.default, [A[None], B[None]], {}), (aten.cumsum.default, [A, 1], {})])
def test_operator_with_such_a_form_writes_there(operator, arguments, keywords):
    expected = operator(*arguments, **keywords)
    for result in (torch.empty_like(expected), torch.empty_like(expected.mT.contiguous()).mT):
        write = writer_of(operator, arguments, keywords, [(None, result)])
        address = result.data_ptr()
        write()
        torch.testing.assert_close(result, expected)
        assert result.data_ptr() == address


@pytest.mark.parametrize("operator, results", [
    (aten.convolution.default, [(None, A)]),  # On the CPU.
    (aten.linalg_matrix_exp.default, [(None, A)]),  # A composition of others.
    (aten.sort.default, [(0, A), (1, A)])])
def test_others_are_copied(operator, results):
    arguments = [torch.randn(1, 2, 4, 4), torch.randn(1, 2, 1, 1), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    assert writer_of(operator, arguments, {}, results) is None


@pytest.mark.parametrize("order", [None, (1, 0)])
def test_memory_is_seen_where_it_lies(order):
    held = torch.arange(6.0).reshape(2, 3)
    memory = Memory("f32[2,3]", order, torch.device("cpu"))
    seen = memory.tensor(held.data_ptr(), None, 0)
    assert torch.equal(seen, held if order is None else held.t())
    seen.fill_(7)
    assert torch.equal(held, torch.full((2, 3), 7.0)) and memory.is_fixed


def test_memory_of_varying_sizes_takes_those_of_the_call():
    held = torch.arange(6.0)
    memory = Memory("f32[s0,3]", None, torch.device("cpu"))
    assert memory.tensor(held.data_ptr(), [9, 2, 3], 1).shape == (2, 3) and not memory.is_fixed


def test_a_size_may_be_the_least_of_others():
    held = torch.arange(8.0)
    memory = Memory("f32[2,min(floordiv(s0,max(2,s1)),4)]", [1, 0], torch.device("cpu"))
    assert memory.rank == 2
    assert torch.equal(memory.tensor(held.data_ptr(), [2, 4], 0), held.view(2, 4).t())


def test_part_of_memory_is_seen_where_it_lies():
    held = torch.arange(12.0).reshape(3, 4)
    memory = Memory("f32[3,4]", View((3, 2), (4, 1), 2), torch.device("cpu"))
    assert torch.equal(memory.tensor(held.data_ptr(), None, 0), held[:, 2:])


@pytest.mark.parametrize("type_, view", [
    ("f32[3,4]", View((3, 2), (4, 1), 3)), ("f32[3,4]", View((3,), (4, 1), 0)), ("f32[3,4]", View((2,), (-1,), 4))])
def test_view_of_other_memory_is_refused(type_, view):
    with pytest.raises(NoHostCall, match="is no part of"):
        Memory(type_, view, torch.device("cpu"))


def test_part_of_memory_of_any_size():
    held = torch.arange(24.0)
    rows, columns = dims.symbol(0), dims.symbol(1)
    memory = Memory("f32[s0,s1]", View((columns, rows - 1), (1, columns), columns), torch.device("cpu"))
    assert not memory.is_fixed
    for shape in ((4, 6), (3, 8), (2, 5)):
        expected = held[:shape[0] * shape[1]].view(shape)[1:].t()
        assert torch.equal(memory.tensor(held.data_ptr(), shape, 0), expected)
    whole = HostCall("aten.f.default", [], {}, [memory._view], [])
    assert whole.varies and HostCall.parse(whole.text()).text() == whole.text()


def test_part_of_memory_that_a_size_does_not_hold_is_refused():
    memory = Memory("f32[s0,4]", View((2,), (4,), 3), torch.device("cpu"))
    held = torch.arange(12.0)
    assert memory.tensor(held.data_ptr(), (2, 4), 0).tolist() == [3.0, 7.0]
    with pytest.raises(NoHostCall, match="is no part of"):
        memory.tensor(held.data_ptr(), (1, 4), 0)


@pytest.mark.parametrize("see", [
    lambda x: x[1:, ::2], lambda x: x[:, 1:].t(), lambda x: x[:, :1].expand(-1, 3), lambda x: x[1:1], lambda x: x.t()],
    ids=["steps", "turned", "expanded", "nothing", "whole"])
def test_copies_lie_as_what_they_copy(see):
    tensor = see(torch.arange(24.0).view(4, 6))
    copy = _copy_of(tensor)
    assert torch.equal(copy, tensor) and copy.stride() == tensor.stride()
    assert copy.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr() or not tensor.numel()
