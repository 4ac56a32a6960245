"""Results of a recording in what another one's call has let go of."""

import gc
import weakref

import pytest
import torch

from stoker.runtime.replays.lent_memory import Lender, Memory, places_within
from stoker.runtime.replays.replay import Recording, Replayed
from unit.client.python.test_replay import Recorder

ELEMENTS = 1 << 18  # 1 MiB.


class Training:
    """A forward pass that keeps two tensors for its backward pass, which gives two gradients."""

    def __init__(self):
        self.forward_recorder, self.backward_recorder = Recorder(), Recorder()
        self.forward = Replayed(lambda given: [given[0].sum(), given[0] * 2, given[0] + 1], self.forward_recorder)
        self.backward = Replayed(
            lambda given: [given[0] * given[2], given[1] - given[2]], self.backward_recorder, (), lets_go=True)
        self.x = torch.randn(ELEMENTS)

    def keep(self):
        """(the loss, what is kept)"""
        self.x.mul_(-1.5)
        loss, *kept = self.forward([self.x])
        assert torch.equal(loss, self.x.sum())
        return loss, kept

    def step(self, others=()):
        """`others`: what holds some of what is kept, while the backward pass runs."""
        loss, kept = self.keep()
        return loss, self.gradients(kept)

    def gradients(self, kept):
        kept.append(torch.full((), 3.0))
        found = self.backward(kept)
        kept.clear()
        assert torch.equal(found[0], self.x * 2 * 3) and torch.equal(found[1], self.x + 1 - 3)
        return found

    def memory(self):
        return {memory.storage.data_ptr() for memory in self.forward._recording._memories}


def lie_in(tensors, addresses):
    return [tensor.untyped_storage().data_ptr() in addresses for tensor in tensors]


def test_gradients_lie_in_what_was_kept():
    training = Training()
    for number in range(8):
        loss, gradients = training.step()  # The loss is still there in the next step.
        if number:
            assert all(lie_in(gradients, training.memory()))
        del gradients
    assert training.forward_recorder.recorded == [set()] and len(training.backward_recorder.recorded) == 1


def test_gradients_that_are_still_there_stay_as_they_are():
    training, held = Training(), []
    for _ in range(6):
        for gradient in training.step()[1]:
            held.append((gradient, gradient.clone()))
    assert all(torch.equal(now, then) for now, then in held)
    assert len(training.forward_recorder.recorded) == 2 and len(training.backward_recorder.recorded) <= 3
    assert not any(lie_in([gradient for gradient, _ in held[-2:]], training.memory()))


def test_sums_of_gradients_over_two_passes():
    training, totals = Training(), None
    expected = torch.zeros(2, ELEMENTS)
    for number in range(12):
        if number % 2 == 0:
            totals, expected = None, torch.zeros(2, ELEMENTS)  # As zero_grad() leaves none.
        gradients = training.step()[1]
        if totals is None:
            totals = gradients
        else:
            for total, gradient in zip(totals, gradients):
                total += gradient
        del gradients
        expected += torch.stack([training.x * 6, training.x - 2])
        for total, sum in zip(totals, expected):
            assert torch.allclose(total, sum, atol=1e-4)
        del total


@pytest.mark.parametrize("kind", ["tensor", "view", "variable", "numpy"])
@pytest.mark.parametrize("since", [0, 4])
def test_what_somebody_else_holds_is_not_overwritten(kind, since):
    training = Training()
    for number in range(8):
        _, kept = training.keep()
        held = None
        if number >= since:
            held = {"tensor": lambda: kept[0], "view": lambda: kept[0][1:], "variable": lambda: kept[0].detach(),
                    "numpy": lambda: kept[0].numpy()}[kind]()
        before = None if held is None else torch.as_tensor(held).clone()
        training.gradients(kept)
        if held is not None:
            assert torch.equal(torch.as_tensor(held), before)


def test_what_two_backward_passes_are_given_stays_for_the_second():
    training = Training()
    for number in range(6):
        _, kept = training.keep()
        again = list(kept)
        training.gradients(kept)
        training.gradients(again)


def test_nothing_is_kept_of_programs_that_are_gone():
    training = Training()
    for _ in range(4):
        training.step()
    memories = [weakref.ref(memory) for memory in training.forward._recording._memories]
    address = memories[0]().storage.data_ptr()
    del training
    gc.collect()
    assert not any(memory() for memory in memories) and address not in Memory._known


def test_a_forward_pass_that_is_recorded_again_ends_what_lies_in_its_memory():
    training = Training()
    for _ in range(3):
        training.step()
    training.forward_recorder.current = 8
    _, kept = training.keep()
    assert training.backward._recording is None
    training.gradients(kept)
    assert all(lie_in(training.step()[1], training.memory()))


def contents(storage):
    return torch.empty(0).set_(storage, 0, (ELEMENTS,), (1,))


@pytest.mark.parametrize("hold", [
    lambda tensor: tensor.untyped_storage(),
    lambda tensor: torch.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=torch.float32, _internal=True)])
def test_memory_that_is_held_without_a_tensor_stays_as_it_is(hold):
    training = Training()
    for _ in range(6):
        _, kept = training.keep()
        held, before = hold(kept[0]), kept[0].clone()
        first, _ = training.gradients(kept)
        storage, gradient, offset = hold(first), first.clone(), first.storage_offset()
        del first
        training.keep()
        for memory, expected, start in ((held, before, 0), (storage, gradient, offset)):
            found = torch.empty(0).set_(getattr(memory, "_untyped_storage", memory), start, (ELEMENTS,), (1,))
            assert torch.equal(found, expected)
        del found, memory


def test_a_weak_reference_to_memory_counts():
    recorder, x = Recorder(), torch.ones(ELEMENTS)
    run = Replayed(lambda given: [given[0] * 2], recorder)
    for _ in range(4):
        x += 1
        result, = run([x])
        held, expected = weakref.ref(result.untyped_storage()), result.clone()
        del result
        x += 1
        run([x])
        assert held() is None or torch.equal(contents(held()), expected)


def test_a_loan_is_of_arguments_that_lie_there():
    """A forward pass that is not replayed gives others, and gradients that somebody holds still lie there."""
    training = Training()
    training.backward = Replayed(
        lambda given: [given[0] * given[2], given[1] - given[2], given[0] * given[3]], training.backward_recorder, (), lets_go=True)
    weight = torch.randn(ELEMENTS)

    def step():
        kept = [*training.keep()[1], torch.full((), 3.0), weight]
        return training.backward(kept)

    training.forward_recorder.busy = True
    for _ in range(5):
        step()
    training.forward_recorder.busy = False
    for _ in range(3):
        step()
    weight = torch.randn(ELEMENTS)
    for _ in range(3):
        step()
    held = [(gradient, gradient.clone()) for gradient in step()[:2]]
    training.forward_recorder.busy = True
    step()
    assert all(torch.equal(now, then) for now, then in held)


@pytest.mark.parametrize("move", [lambda result: result.resize_(2 * ELEMENTS), lambda result: result.untyped_storage().resize_(0)])
def test_a_result_that_is_moved_is_no_place_of_the_next(move):
    recorder, x = Recorder(), torch.ones(ELEMENTS)
    run = Replayed(lambda given: [given[0] * 2], recorder)
    for _ in range(4):
        x += 1
        result, = run([x])
        assert torch.equal(result, x * 2)
        move(result)


def test_results_without_elements_are_those_of_their_calls():
    recorder, x = Recorder(), torch.ones(4)
    run = Replayed(lambda given: [given[0] * 2, given[0][:0] * 3], recorder)
    for _ in range(3):
        run([x])
    first = torch.add(x, 1, out=run([x])[1])
    torch.add(x, 7, out=run([x])[1])
    assert first.tolist() == [2.0] * 4 and len(recorder.recorded) == 1


def test_what_others_may_show_is_not_lent():
    made = torch.ones(ELEMENTS)
    memory = Memory(made.untyped_storage(), 1, [0])
    outputs = {0: (torch.float32, (ELEMENTS,), (1,), 5)}
    assert memory and Lender([made.detach()], None).place([(0, 1)], outputs)
    assert not Lender([made.detach()], None, frozenset({0})).place([(0, 1)], outputs)
    assert not Lender([], None).place([], outputs)


def test_one_element_of_a_result_that_is_given_as_a_copy_holds_nothing():
    made = torch.ones(ELEMENTS)
    recording = Recording(lambda: None, 0, [], {}, [made, made[:1].view(())])
    del made
    results = recording.replay([], set())
    assert [memory.numbers for memory in recording.held()] == [{0}]
    del results
    assert not recording.held()


MB = 1 << 20


def placed(free, sizes, firsts):
    return places_within(free, dict(enumerate(sizes)), dict(enumerate(firsts)))


def test_outputs_go_where_they_fit_best():
    free = {"a": (8 * MB, 3), "b": (4 * MB, 5), "c": (16 * MB, 9)}
    assert placed(free, [4 * MB, 4 * MB, 4 * MB], [6, 6, 6]) == {
        0: ("b", 0), 1: ("a", 0), 2: ("a", 4 * MB)}
    assert placed(free, [4 * MB, 20 * MB, 1 * MB - 1], [4, 10, 10]) == {0: ("a", 0)}


@pytest.mark.parametrize("first, fits", [(-1, False), (0, False), (5, False), (6, True)])
def test_what_is_read_by_the_step_that_writes_is_not_lent(first, fits):
    assert bool(placed({"a": (8 * MB, 5)}, [MB], [first])) == fits


def test_outputs_begin_at_multiples():
    found = placed({"a": (8 * MB, 1)}, [MB + 4, MB + 4], [2, 2])
    assert found == {0: ("a", 0), 1: ("a", MB + 512)}
