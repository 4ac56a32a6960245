"""What is recorded of a program, with tensors without memory in place of those of a GPU."""

import pytest
import torch

from stoker.runtime.replays import cuda_recorder
from stoker.runtime.replays.lent_memory import Ahead
from stoker.runtime.replays.replay import NoMemory, NotRecordable

GPU = torch.device("meta")


class Recorder(cuda_recorder.Recorder):
    def stream(self):
        return 7

    def _capture(self, run, arguments, only_there):
        class Graph:
            replay = staticmethod(lambda: None)

        return Graph, cuda_recorder._run_there(run, arguments, only_there)


def results_of(run, *arguments, moving=(), device=GPU):
    return Recorder(device).record(run, list(arguments), set(moving)).replay(list(arguments), set())


def test_numbers_of_the_cpu_go_along():
    x, number = torch.empty(4, device=GPU), torch.tensor(2.0)
    product, given = results_of(lambda a: [a[0] * (a[1] + 1), a[1]], x, number)
    assert product.device == GPU and given is number


@pytest.mark.parametrize("made", [lambda number: number + 1, lambda number: (number * 2).view(1)])
def test_what_is_made_of_numbers_of_the_cpu_alone_is_no_result(made):
    with pytest.raises(NotRecordable, match="a result lies on cpu"):
        results_of(lambda a: [a[0] * a[1], made(a[1])], torch.empty(4, device=GPU), torch.tensor(2.0))


def test_numbers_that_are_sent_to_the_gpu_are_results():
    sent, = results_of(
        lambda a: [torch.ops.aten._to_copy(a[1], device=GPU) + 1], torch.empty(4, device=GPU), torch.tensor(2.0))
    assert sent.device == GPU


def test_no_memory_for_a_recording(monkeypatch):
    def none_left(*_, **__):
        raise torch.OutOfMemoryError("none left")

    monkeypatch.setattr(torch, "empty_strided", none_left)
    with pytest.raises(NoMemory, match="none left"):
        results_of(lambda a: [a[0] + 1], torch.empty(4, device=GPU), moving=(0,))


@pytest.mark.parametrize("moving", [(), (0,)])
@pytest.mark.parametrize("show", [lambda x: x[2:], lambda x: x.view(2, 3).t(), lambda x: x])
def test_what_shows_an_input_shows_that_of_the_call(show, moving):
    x = torch.arange(8.0)[1:7].requires_grad_()
    shown, = results_of(lambda a: [show(a[0])], x, moving=moving, device=torch.device("cpu"))
    assert torch.equal(shown, show(x)) and shown.data_ptr() == show(x).data_ptr() and shown.stride() == show(x).stride()


def test_bits_of_an_input_are_copied():
    x = torch.arange(6.0)
    bits, = results_of(lambda a: [a[0].view(torch.int32)], x, device=torch.device("cpu"))
    assert torch.equal(bits, x.view(torch.int32)) and bits.data_ptr() != x.data_ptr()


class Repeated(Recorder):
    """Of which each replay runs again."""

    def _capture(self, run, arguments, only_there):
        class Graph:
            replay = staticmethod(lambda: run(list(arguments)))

        return Graph, super()._capture(run, arguments, only_there)[1]


@pytest.mark.parametrize("moving", [(), (0,)])
@pytest.mark.parametrize("show", [lambda x: x.conj(), lambda x: x.conj()[1:], lambda x: torch._neg_view(x), lambda x: x.conj().imag])
def test_what_shows_an_input_otherwise_than_it_is_is_copied(show, moving):
    x = torch.randn(4, dtype=torch.complex64)
    shown, = Repeated(torch.device("cpu")).record(lambda a: [show(a[0])], [x], set(moving)).replay([x], set())
    assert torch.equal(shown, show(x)) and shown.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_a_lazy_conjugate_of_an_input_that_is_one_is_shown():
    x = torch.randn(4, dtype=torch.complex64).conj()
    shown, = results_of(lambda a: [a[0][1:]], x, device=torch.device("cpu"))
    assert torch.equal(shown, x[1:]) and shown.data_ptr() == x[1:].data_ptr()


class Writes:
    """What makes results, and writes to the first input."""

    updated = (0,)

    def make_ahead(self, numbers, lender):
        return {}


@pytest.mark.parametrize("moving", [(), (0,)])
def test_an_input_that_is_written_where_it_was_copied_to_is_not_its_result(moving):
    """Whoever calls copies the result into the input, where that is another tensor."""
    def run(arguments):
        arguments[0].add_(1)
        return [arguments[0], arguments[1] * 2]

    x, y = torch.arange(4.0), torch.ones(3)
    recorded = Repeated(torch.device("cpu")).record(run, [x, y], set(moving), [(Writes(), [])])
    x.copy_(torch.arange(4.0))  # What was recorded ran here.
    for call in range(3):
        updated, twice = recorded.replay([x, y], set())
        assert (updated is x) == (not moving) and torch.equal(twice, y * 2)
        assert torch.equal(updated, torch.arange(4.0) + call + 1)
        x.copy_(updated)


class InLentMemory:
    """Lends the memory of an input, and makes a result there."""

    updated = ()

    def __init__(self, memory):
        self._memory, self.settled = memory, None

    def make_ahead(self, numbers, lender):
        return {number: self._memory.detach()[:2] for number in numbers}

    def addresses(self):
        return {self._memory.untyped_storage().data_ptr()}

    def settle(self, results):
        self.settled = sorted(results)
        return []


@pytest.mark.parametrize("result_of", [lambda made: made, lambda made: made.expand(3, 2)])
def test_a_result_in_lent_memory_is_one_of_the_recording(result_of):
    x = torch.randn(4)
    lender = InLentMemory(x)
    Recorder(torch.device("cpu")).record(
        lambda a: [a[1] * 2, result_of(Ahead.of(lender)[1])], [x, torch.randn(3)], {1}, [(lender, [1])], lender)
    assert lender.settled == [0, 1]


class Captured(Recorder):
    """Says how often it was asked to capture."""

    captures = 0

    def _capture(self, run, arguments, only_there):
        self.captures += 1
        return super()._capture(run, arguments, only_there)


def test_results_that_no_kernel_makes_are_there_before():
    recorder, x = Captured(torch.device("cpu")), torch.randn(4)
    made = recorder.record(lambda a: [twice := a[0] * 2, a[0] + 1, twice], [x], set())
    first, second, again = made.replay([x], set())
    assert recorder.captures == 2 and again is first
    assert torch.equal(first, x * 2) and torch.equal(second, x + 1)
    stay = [found.data_ptr() == other.data_ptr() for found, other in zip(made.replay([x], set()), (first, second))]
    assert stay == [True, True]


def test_a_view_of_an_input_that_is_given_twice_is_one():
    x = torch.randn(6)
    one, other = results_of(lambda a: [view := a[0][1:], view], x, device=torch.device("cpu"))
    assert one is other


def test_results_that_show_elements_again_and_again_are_copied_by_each_call():
    recorder, x = Captured(torch.device("cpu")), torch.randn(4)
    shown, = recorder.record(lambda a: [(a[0] * 2).expand(2, -1)], [x], set()).replay([x], set())
    assert recorder.captures == 1 and torch.equal(shown, (x * 2).expand(2, -1)) and shown.stride() == (0, 1)
