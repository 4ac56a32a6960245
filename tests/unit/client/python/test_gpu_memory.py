"""When outputs are made, and inputs let go of, while a plan runs."""

import ctypes
import weakref
from types import SimpleNamespace

import pytest
import torch

from stoker.graph.layout import row_major
from stoker.graph.program import Segment, SegmentInput, SegmentOutput
from stoker.libstoker.library import FAILED_PRECONDITION, RESOURCE_EXHAUSTED, StokerError
from stoker.pytorch import devices
from stoker.runtime import gpu_memory
from stoker.runtime.cuda_executable import SizedOnCuda
from stoker.runtime.replays.lent_memory import Ahead, Lender, Memory

MB = 1 << 20


def most_at_once(turns, inputs, outputs):
    """Bytes, by what each step has."""
    steps = 1 + max(step for _, step in (*inputs, *outputs))
    gone = {number: turn.step for turn in turns for number in turn.inputs}
    made = {number: turn.step for turn in turns for number in turn.outputs}
    for number, (_, last) in enumerate(inputs):
        assert gone.get(number, steps) > last
    for number, (_, first) in enumerate(outputs):
        assert made.get(number, 0) <= max(first, 0)
    return max(
        sum(size for number, (size, _) in enumerate(inputs) if gone.get(number, steps + 1) > step)
        + sum(size for number, (size, _) in enumerate(outputs) if made.get(number, 0) <= step) for step in range(steps + 1))


@pytest.mark.parametrize("layers", [1, 12, 100])
def test_layers_of_a_backward_pass(layers):
    inputs = [(70 * MB, 3 * (layers - layer) - 1) for layer in range(layers)]  # Kept by each layer, the last one's read first.
    outputs = [(size * MB, 3 * step + 1) for step in range(layers) for size in (9, 9, 3)]
    outputs += [(512, 3 * step + 2) for step in range(layers)]
    turns = gpu_memory.turns_of(inputs, outputs)
    together = sum(size for size, _ in (*inputs, *outputs))
    if layers == 1:
        assert not turns  # 21 MB would come later.
        return
    assert 1 < len(turns) <= gpu_memory.MAX_TURNS + 1
    assert [turn.step for turn in turns] == sorted({turn.step for turn in turns})
    saved = together - most_at_once(turns, inputs, outputs)
    assert saved > 0.8 * sum(size for size, _ in outputs)


@pytest.mark.parametrize("inputs, outputs", [
    ([], []), ([(900 * MB, 5)], [(900 * MB, 5)]), ([(900 * MB, 5)], [(900 * MB, 3)]), ([(900 * MB, 5)], [(900 * MB, 0)]),
    ([(900 * MB, 5)], [(900 * MB, -1)]), ([(8 * MB, 1)], [(8 * MB, 5)])])
def test_no_turns_where_they_save_little(inputs, outputs):
    assert gpu_memory.turns_of(inputs, outputs) == []


def test_an_input_that_nothing_reads_goes_first():
    (turn,) = gpu_memory.turns_of([(100 * MB, -1), (100 * MB, 7)], [(100 * MB, 4)])
    assert turn == gpu_memory.Turn(4, (0,), (0,))


class Executable:
    """Of a plan that reads its inputs in steps 0 and 1, and gives its outputs in steps 1 and 2."""

    device = torch.device("cpu")
    verifies = False
    takes_turns = True
    last_of_inputs, first_of_outputs = [0, 1], [1, 2]

    def __init__(self, fails=None):
        self.fails = fails
        self.seen = []  # Addresses of outputs before each step.

    def run(self, arguments, turns=()):
        results = arguments[4]
        steps, count, turn, number = turns
        for step in range(3):
            for place in range(count):
                if steps[place] == step and self.fails != "forgets" and turn(number, place):
                    raise StokerError(FAILED_PRECONDITION, f"The caller failed in turn {place}, before step {step}.")
            self.seen.append([bool(address) for address in results])
            if step == 2 and self.fails == "launch":
                raise StokerError(RESOURCE_EXHAUSTED, "Launch failed.")


def sized(executable, monkeypatch, checks=()):
    monkeypatch.setattr(devices, "stream_of", lambda device: 0)
    monkeypatch.setattr(gpu_memory, "WORTH", 1)
    layout = row_major((MB,))
    return SizedOnCuda(executable, Segment(
        "", [SegmentInput(0, layout, False), SegmentInput(1, layout, False)],
        [SegmentOutput(2, torch.float32, layout), SegmentOutput(3, torch.float32, layout)], checks), (), lets_go={0, 1})


def inputs_of_call():
    slots = [torch.zeros(MB), torch.zeros(MB)]
    return slots, [weakref.ref(tensor) for tensor in slots]


def test_outputs_come_and_inputs_go(monkeypatch):
    executable = Executable()
    slots, living = inputs_of_call()
    given = []

    class Seen(Executable):
        def run(self, arguments, turns=()):
            super().run(arguments, turns)
            given.append([reference() is not None for reference in living])

    executable = Seen()
    results = sized(executable, monkeypatch)(slots)
    assert [result.shape for result in results] == [(MB,), (MB,)]
    assert executable.seen == [[False, False], [True, False], [True, True]]
    assert given == [[False, False]] and slots == [None, None]


@pytest.mark.parametrize("takes_turns", [True, False])
def test_what_is_said_of_indices_has_memory_while_kernels_run(monkeypatch, takes_turns):
    class Checked(Executable):
        def run(self, arguments, turns=()):
            assert arguments[4][2] == given[0]().data_ptr()
            if turns:
                super().run(arguments, turns)
            ran.append(arguments)

    ran, executable = [], Checked()
    executable.takes_turns = takes_turns
    call = sized(executable, monkeypatch, checks=("an index",))
    given = []
    monkeypatch.setattr(call, "_place_of_checks", lambda: given.append(weakref.ref(made := torch.zeros((), dtype=torch.bool))) or made)
    call(inputs_of_call()[0])
    assert len(ran) == len(given) == 1


def test_what_is_held_elsewhere_stays(monkeypatch):
    slots, living = inputs_of_call()
    holder = list(slots)
    sized(Executable(), monkeypatch)(slots)
    assert [reference() for reference in living] == holder


def test_without_turns_nothing_goes(monkeypatch):
    slots, _ = inputs_of_call()
    ran = []
    executable = SimpleNamespace(
        device=torch.device("cpu"), takes_turns=False, last_of_inputs=[0, 1], first_of_outputs=[1, 2],
        run=lambda arguments: ran.append(list(map(bool, arguments[4]))))
    sized(executable, monkeypatch)(slots)
    assert ran == [[True, True]] and None not in slots


def test_no_memory_is_the_callers_error(monkeypatch):
    call = sized(Executable(), monkeypatch)
    make = call._buffer_of

    def fail(output):
        raise torch.OutOfMemoryError("no more")

    monkeypatch.setattr(call, "_buffer_of", fail)
    with pytest.raises(torch.OutOfMemoryError, match="no more"):
        call(inputs_of_call()[0])
    monkeypatch.setattr(call, "_buffer_of", make)
    assert len(call(inputs_of_call()[0])) == 2
    assert not gpu_memory.TurnsOfCall._running


def test_a_failure_after_a_turn_is_no_reason_to_start_over(monkeypatch):
    with pytest.raises(RuntimeError, match="had let go of what it was given.*Launch failed"):
        sized(Executable("launch"), monkeypatch)(inputs_of_call()[0])


def test_a_turn_that_did_not_happen_is_an_interrupt(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        sized(Executable("forgets"), monkeypatch)(inputs_of_call()[0])


def test_steps_are_as_libstoker_takes_them():
    taken = []
    with gpu_memory.TurnsOfCall([gpu_memory.Turn(4, (0,), ()), gpu_memory.Turn(9, (), (1,))], taken.append) as (
            steps, count, turn, number):
        assert isinstance(steps, ctypes.Array) and list(steps) == [4, 9] and count == 2
        assert [turn(number, place) for place in range(count)] == [0, 0]
    assert [each.step for each in taken] == [4, 9]


@pytest.mark.parametrize("verifies", [False, True])
@pytest.mark.parametrize("lends", [(0, 1), (0,), ()])
def test_what_is_recorded_lies_in_what_it_lets_go_of(monkeypatch, lends, verifies):
    slots, _ = inputs_of_call()
    addresses = [tensor.data_ptr() for tensor in slots]
    memories = [Memory(slots[place].detach().untyped_storage(), 0, [place]) for place in lends]
    ran = []
    executable = SimpleNamespace(
        device=torch.device("cpu"), takes_turns=False, verifies=verifies, last_of_inputs=[0, 1], first_of_outputs=[1, 2],
        run=lambda arguments: ran.append(list(arguments[4])))
    call = sized(executable, monkeypatch)
    with Ahead({call: call.make_ahead([0, 1], Lender(slots, None))}) as _:
        results = call(slots)
    assert ran == [[result.data_ptr() for result in results]] and len(memories) == len(lends)
    for place, (address, result) in enumerate(zip(addresses, results)):
        assert (result.data_ptr() == address) == (place in lends and not verifies)


def test_results_of_a_recording_are_there_before_it(monkeypatch):
    executable = SimpleNamespace(
        device=torch.device("cpu"), takes_turns=False, verifies=False, last_of_inputs=[0, 1], first_of_outputs=[1, 2],
        run=lambda arguments: None)
    call = sized(executable, monkeypatch)
    buffers = call.make_ahead([1])
    address = buffers[1].data_ptr()
    with Ahead({call: buffers}):
        first, second = call(inputs_of_call()[0])
        again = call(inputs_of_call()[0])
    assert second.data_ptr() == address and address not in (first.data_ptr(), again[1].data_ptr())
    assert Ahead.of(call) == {}
