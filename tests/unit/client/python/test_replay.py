"""What runs again as it was recorded: which inputs are copied, which results, and when nothing is recorded."""

import ctypes

import pytest
import torch

from stoker.runtime.replays.replay import BYTES_OF_LAUNCH, CALLS_OF_SETTLED, LARGE, MAX_RECORDINGS, MAX_WARM_CALLS, Given, NotRecordable, Recording, Replayed


def at_the_place_of(value):
    """A tensor's elements, which may go before this does, as those may that a graph reads."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return value
    extent = 1 + sum(stride * (size - 1) for stride, size in zip(value.stride(), value.shape))
    memory = (ctypes.c_char * (extent * value.element_size())).from_address(value.data_ptr())
    return torch.frombuffer(memory, dtype=value.dtype).as_strided(value.shape, value.stride())


class Recorder:
    """Records nothing: a launch computes anew from where inputs lay, and writes to where results lie."""

    def __init__(self):
        self.recorded = []  # Places that are copied, for each recording.
        self.shapes = set()  # Of the inputs of all recordings.
        self.lent = set()  # Addresses of the memory in which results of the last one were placed.
        self.busy = False
        self.current = 7
        self.refusal = None

    def is_busy(self):
        return self.busy

    def stream(self):
        return self.current

    def record(self, run, arguments, moving, makers=(), lender=None):
        if self.refusal:
            raise NotRecordable(self.refusal)
        self.recorded.append(set(moving))
        self.shapes.add(tuple(tuple(argument.shape) for argument in arguments if isinstance(argument, torch.Tensor)))
        places = {place: torch.empty_like(arguments[place]) for place in moving}
        given = [places.get(place, at_the_place_of(argument)) for place, argument in enumerate(arguments)]
        made = {}
        results = [
            made.setdefault(id(result), result.clone()) if isinstance(result, torch.Tensor) else result
            for result in run(list(given))]
        if lender is not None:
            results = self.placed(lender, arguments, results)

        def launch():
            for result, new in zip(results, run(list(given))):
                if isinstance(result, torch.Tensor):
                    result.copy_(new)

        return Recording(launch, self.current, arguments, places, results, lender=lender)

    def placed(self, lender, arguments, results):
        """As where a plan reads its inputs in its first step, and names its results later."""
        numbers = [number for number, result in enumerate(results) if isinstance(result, torch.Tensor)]
        lent = lender.place(
            [(place, 0) for place in range(len(arguments))],
            {number: (results[number].dtype, results[number].shape, results[number].stride(), 1) for number in numbers})
        self.lent = {tensor.untyped_storage().data_ptr() for tensor in lent.values()}
        return [lent.get(number, result) for number, result in enumerate(results)]


class Program:
    def __init__(self):
        self.calls = 0

    def __call__(self, arguments):
        self.calls += 1
        x, weight = arguments
        return [x * weight, x + 1]


def check(replayed, x, weight):
    product, total = replayed([x, weight])
    assert torch.equal(product, x * weight) and torch.equal(total, x + 1)
    return product, total


def started(recorder):
    return Replayed(Program(), recorder)


def test_what_stays_is_read_where_it_lies():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    for _ in range(3):
        check(replayed, x, weight)
        x.mul_(2)
    assert recorder.recorded == [set()]


def test_what_moves_is_copied_and_the_rest_is_not():
    recorder, weight = Recorder(), torch.randn(4)
    replayed = started(recorder)
    inputs = [torch.randn(4) for _ in range(MAX_WARM_CALLS + 3)]
    for x in inputs:
        check(replayed, x, weight)
    assert recorder.recorded == [{0}]


def test_what_moves_later_is_copied_from_then_on():
    recorder, weight, x = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    inputs = [x, x, x, torch.randn(4), torch.randn(4)]
    for each in inputs:
        check(replayed, each, weight)
    assert recorder.recorded == [set(), {0}]


@pytest.mark.parametrize("elements, is_read_there", [(LARGE // 4, True), (4, False)])
def test_what_moves_no_more_is_read_where_it_lies(elements, is_read_there):
    recorder, weight = Recorder(), torch.randn(elements)
    replayed = started(recorder)
    inputs = [torch.randn(elements) for _ in range(MAX_WARM_CALLS + 1)]
    for x in [*inputs, *inputs[-1:] * (CALLS_OF_SETTLED + 3)]:
        check(replayed, x, weight)
        x.mul_(-1.5)
    assert recorder.recorded == [{0}, set()][:1 + is_read_there]


def test_what_moves_again_is_copied_for_good():
    recorder, weight = Recorder(), torch.randn(LARGE // 4)
    replayed = started(recorder)
    inputs = [torch.randn(LARGE // 4) for _ in range(MAX_WARM_CALLS + 1)]
    for _ in range(4):
        for x in [*inputs, *inputs[-1:] * (CALLS_OF_SETTLED + 3)]:
            check(replayed, x, weight)
    assert recorder.recorded == [{0}, set(), {0}]


def test_results_that_are_held_stay_as_they_are():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    held = []
    for _ in range(8):
        product, _ = check(replayed, x, weight)
        held.append((product, product.clone()))
        del product
        x.mul_(-1.5)
    assert all(torch.equal(now, then) for now, then in held)
    assert 1 <= len(recorder.recorded) <= 3


@pytest.mark.parametrize("launches", [1, 3, 4])
def test_what_takes_longer_to_copy_than_to_launch_runs_unrecorded(launches):
    """Two results of 3/2 of what one launch is worth."""
    elements = BYTES_OF_LAUNCH // 8 * 3
    recorder, x, weight = Recorder(), torch.randn(elements), torch.randn(elements)
    replayed = Replayed(Program(), recorder, launches=launches)
    held = []
    for _ in range(6):
        results = check(replayed, x, weight)
        held = held[-1:] + [(result, result.clone()) for result in results]
        x.mul_(-1.5)
    assert all(torch.equal(now, then) for now, then in held)
    assert len(recorder.recorded) == (2 if launches > 2 else 1)
    assert (replayed._reason is None) == (launches > 2)


@pytest.mark.parametrize("launches", [1, 2])
def test_large_inputs_that_move_are_copied_only_for_many_launches(launches):
    elements = BYTES_OF_LAUNCH // 8 * 3
    recorder, weight = Recorder(), torch.randn(elements)
    replayed = Replayed(Program(), recorder, launches=launches)
    for x in [torch.randn(elements) for _ in range(MAX_WARM_CALLS + 3)]:
        check(replayed, x, weight)
    assert recorder.recorded == [{0}] * (launches - 1)


def test_results_that_are_dropped_lie_where_those_before_lay():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    addresses = set()
    for _ in range(6):
        addresses.add(check(replayed, x, weight)[0].data_ptr())
    assert len(recorder.recorded) == 1 and len(addresses) <= 2


@pytest.mark.parametrize("kept", [0, 1])
def test_results_that_are_given_twice_are_held_by_whoever_has_one(kept):
    recorder, x = Recorder(), torch.ones(4)
    replayed = Replayed(lambda arguments: [arguments[0] * 2] * 2, recorder)
    held = []
    for _ in range(5):
        results = replayed([x])
        assert results[0] is results[1]
        held.append((results[kept], results[kept].clone()))
        del results
        x.mul_(-1.5)
    assert recorder.recorded and all(torch.equal(now, then) for now, then in held)


def test_another_stream_has_a_recording_of_its_own():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    for recorder.current in (7, 7, 8, 8):
        check(replayed, x, weight)
    assert len(recorder.recorded) == 2


def test_recordings_have_a_limit():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    replayed = started(recorder)
    for recorder.current in range(MAX_RECORDINGS + 4):
        check(replayed, x, weight)
    assert len(recorder.recorded) == MAX_RECORDINGS


def test_caller_that_records_itself_gets_a_plain_run():
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    recorder.busy = True
    replayed = started(recorder)
    for _ in range(4):
        check(replayed, x, weight)
    assert not recorder.recorded


def test_what_cannot_be_recorded_runs_and_is_said_once(caplog):
    recorder, x, weight = Recorder(), torch.randn(4), torch.randn(4)
    recorder.refusal = "an input lies elsewhere, for this test"
    replayed = started(recorder)
    for _ in range(4):
        check(replayed, x, weight)
    assert [record.getMessage() for record in caplog.records if "CUDA graph" in record.getMessage()] == [
        "reduce-overhead: a graph runs without a CUDA graph: an input lies elsewhere, for this test."]


def test_results_that_are_inputs_are_those_of_the_call():
    x, y = torch.randn(3), torch.randn(3)
    recording = Recording(lambda: None, 0, [x], {0: torch.empty(3)}, [Given(0), None, 5])
    assert recording.replay([y], set()) == [y, None, 5]


def test_results_in_the_memory_of_copied_inputs_are_copies():
    place = torch.empty(3)
    recording = Recording(lambda: None, 0, [torch.zeros(3)], {0: place}, [place[1:]])
    first, = recording.replay([torch.ones(3)], set())
    recording.replay([torch.zeros(3)], set())
    assert torch.equal(first, torch.ones(2)) and not recording.held()


def test_inputs_that_show_elements_again_and_again_are_copied():
    inputs = [torch.full((3,), value).expand(4, 3) for value in (0.0, 1.0)]
    place = torch.empty_strided((4, 3), inputs[0].stride())
    recording = Recording(lambda: None, 0, inputs[:1], {0: place}, [])
    recording.replay(inputs[1:], set())
    assert torch.equal(place, inputs[1])
    assert recording.fits(inputs[1:], 0) and not recording.fits([torch.zeros(4, 3)], 0)


@pytest.mark.parametrize("result", [
    torch.arange(12.0).view(3, 4)[:, 1:], torch.arange(3.0).expand(4, 3), torch.arange(5.0).unfold(0, 3, 1),
    torch.ones(0, 4).expand(2, 0, 4)])
def test_copies_of_results_lie_as_these(result):
    recording = Recording(lambda: None, 0, [], {}, [result])
    copy, = recording.replay([], {0})
    assert copy.stride() == result.stride() and torch.equal(copy, result)
    assert not result.numel() or copy.data_ptr() != result.data_ptr()


@pytest.mark.parametrize("value", [torch.tensor(2.5), torch.tensor(3)])
def test_scalars_are_filled_in(value):
    place = torch.empty((), dtype=value.dtype)
    Recording(lambda: None, 0, [value], {0: place}, []).replay([value], set())
    assert torch.equal(place, value)
