"""Training whose passes are recorded and run again, gradients in the memory of what was kept for them: what AOTAutograd holds while a
backward pass runs, and what programs may hold."""

import pytest
import torch

from lowered import EvaluatedSegment
from stoker import backend
from stoker.lowering import compiling
from stoker.runtime.replays import room
from unit.client.python.test_replay import Recorder

WIDTH = 512  # A weight's gradient is of 1 MiB.


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        shown = []
        for layer in self.layers:
            x = torch.tanh(layer(x))
            shown.append(x)
        return x.square().mean(), shown[1]


@pytest.fixture
def recorders(monkeypatch):
    """Of all programs that are compiled, in order."""
    torch._dynamo.reset()
    made = []

    def make(device, replays):
        made.append(Recorder())
        return made[-1]

    monkeypatch.setattr(compiling, "_executable", lambda segment, *_: EvaluatedSegment(segment))
    monkeypatch.setattr(compiling, "_report", lambda fallbacks: None)
    monkeypatch.setattr(compiling, "recorder_on", make)
    return made


class Steps:
    """The same steps of a compiled network and of an eager one. `check` compares all gradients."""

    def __init__(self):
        torch.manual_seed(0)
        self.network, self.eager = Network(), Network()
        self.eager.load_state_dict(self.network.state_dict())
        self.run = torch.compile(self.network, backend=backend.stoker)
        self._given = []  # All of it, so that each lies elsewhere.

    def both(self, do):
        x = torch.randn(WIDTH, WIDTH)
        self._given.append(x)
        return do(self.run, x), do(self.eager, x)

    def forget(self):
        for network in (self.network, self.eager):
            network.zero_grad(set_to_none=True)

    def check(self):
        for one, other in zip(self.network.parameters(), self.eager.parameters()):
            torch.testing.assert_close(one.grad, other.grad)


def test_gradients_lie_in_what_was_kept(recorders):
    steps = Steps()
    addresses = []
    one = torch.ones(())  # Of which it is not chance where it lies.
    for _ in range(6):
        steps.forget()
        loss, expected = steps.both(lambda run, x: backward_of_loss(run, x, gradient=one))  # The loss is there until the next.
        assert torch.isclose(loss, expected)
        steps.check()
        addresses.append({parameter.grad.untyped_storage().data_ptr() for parameter in steps.network.parameters()})
    assert [len(recorder.recorded) for recorder in recorders] == [1, 1]
    assert [len(recorder.lent) for recorder in recorders] == [0, 3]
    assert recorders[1].lent <= addresses[-1]


def backward_of_loss(run, x, **keywords):
    loss, _ = run(x)
    loss.backward(**keywords)
    return loss.detach()


def test_gradients_that_are_summed_up(recorders):
    steps = Steps()
    for _ in range(5):
        steps.forget()
        for _ in range(3):
            steps.both(backward_of_loss)
            steps.check()


def test_gradients_that_programs_keep(recorders):
    steps, kept = Steps(), []
    for _ in range(5):
        steps.forget()
        steps.both(backward_of_loss)
        kept += [(parameter.grad, parameter.grad.clone()) for parameter in steps.network.parameters()]
    assert all(torch.equal(now, then) for now, then in kept)


@pytest.mark.parametrize("since", [0, 3])
def test_graphs_that_are_kept(recorders, since):
    def twice(run, x):
        loss, shown = run(x)
        loss.backward(retain_graph=True)
        first = [parameter.grad.clone() for parameter in (run.parameters())]
        loss.backward()
        for parameter, gradient in zip(run.parameters(), first):
            torch.testing.assert_close(parameter.grad, gradient * 2)

    steps = Steps()
    for number in range(6):
        steps.forget()
        steps.both(twice if number >= since else backward_of_loss)
        steps.check()


@pytest.mark.parametrize("since", [0, 3])
def test_results_that_programs_keep(recorders, since):
    """The second layer's is kept for the backward pass, too."""
    steps, kept = Steps(), []

    def step(run, x):
        loss, shown = run(x)
        if number >= since:
            kept.append((shown, shown.clone()))
        del shown
        loss.backward()

    for number in range(6):
        steps.forget()
        steps.both(step)
        steps.check()
    assert all(torch.equal(now, then) for now, then in kept)


def test_tensors_of_the_graph_that_programs_keep(recorders):
    steps, kept = Steps(), []

    def step(run, x):
        loss, _ = run(x)
        found = [(tensor, tensor.clone()) for tensor in getattr(loss.grad_fn, "saved_tensors", ())]
        loss.backward()
        kept.extend(found)

    for number in range(6):
        steps.forget()
        steps.both(step if number >= 3 else backward_of_loss)
        steps.check()
        assert all(torch.equal(now, then) for now, then in kept)
        kept.clear()


def test_two_losses_before_a_backward_pass(recorders):
    def step(run, x):
        one, _ = run(x)
        other, _ = run(x * 2)
        (one + other).backward()

    steps = Steps()
    for _ in range(6):
        steps.forget()
        steps.both(step)
        steps.check()


def test_lengths_beyond_those_that_are_recorded(recorders, monkeypatch):
    monkeypatch.setattr(room, "MAX_SIZES", 2)
    steps = Steps()
    inputs = {length: torch.randn(length, WIDTH) for length in (8, 16, 24, 32)}
    for length in (8, 16, 24, 32, 16, 24, 8):
        torch._dynamo.mark_dynamic(inputs[length], 0)
        for _ in range(2):
            steps.forget()
            losses = [backward_of_loss(run, inputs[length]) for run in (steps.run, steps.eager)]
            assert torch.isclose(*losses)
            steps.check()
    assert [len(recorder.shapes) for recorder in recorders] == [2, 2]
