"""Runs a program again as what its GPU recorded of it (a CUDA graph): one launch in place of hundreds, at the same addresses.

What is recorded reads and writes where its tensors were. Inputs that stay where they are, as parameters do, are read there;
others are copied to a place of their own first. Results are handed out as they lie, where nobody holds those of the call
before; of one that somebody does hold, callers get copies from then on.
"""

import math

import torch

from ...base.locks import Turn
from ...base.log import logger, warn_once
from ...pytorch.native.addresses import Addresses
from .lent_memory import Lender, Memory

# Calls that run unrecorded while large inputs, or many, still move, as they do where other programs have not been recorded yet.
MAX_WARM_CALLS, FEW = 4, 4
# Of one program: each costs what many calls do. An input that has moved after a recording is copied in the next.
MAX_RECORDINGS = 6
# A large input that is copied, and has come from the same place in so many calls, is read there from then on: what makes it
# was recorded later, as the gradient of a loss is. Where it moves again it is copied for good.
CALLS_OF_SETTLED, LARGE = 8, 1 << 20  # Bytes.
# A launch costs whoever makes it about as long as a GPU takes to copy this.
BYTES_OF_LAUNCH = 8 << 20
# Of the first results that are one number callers get copies: the loss of a step is still there in the next.
MAX_NUMBERS = 4


class NotRecordable(Exception):
    """A program cannot be recorded; the message says why."""


class NoMemory(NotRecordable):
    """There is not as much as a recording has beside what a call has."""


class Replayed:
    """A function of a list of inputs, as `run`. `recorder`: a cuda_recorder.Recorder. `makers`: what makes its
    results, and the numbers of these there; `lets_go`: whoever calls holds most of what is in the list for nothing else, so that
    results may lie there, but for inputs in the places `shown`: others may show their memory. `room`: a Room, where the program
    is called with many sizes, of which this one is for some; `launches`: about how many `run` makes."""

    def __init__(self, run, recorder, makers=(), lets_go=False, shown=frozenset(), room=None, launches=math.inf):
        self._run = run
        self._recorder = recorder
        self._makers = makers
        self._borrows = lets_go
        self._shown = shown
        self._room = room
        self._most_copied = launches * BYTES_OF_LAUNCH  # In each call.
        self.last_call = 0  # Among those of the program.
        self._turn = Turn()
        self._reason = None  # Why nothing is recorded any more.
        self._calls = 0
        self._addresses = None  # Of the inputs in the call before.
        self._moving = set()  # Places of inputs that are copied.
        self._settled = set()  # Those that were, and have been read where they lie.
        self._kept = set()  # Places of results that callers have held until the next call: they get copies.
        self._kept_bytes = 0
        self._recordings = 0
        self._recording = None

    def __call__(self, arguments):
        if self._room is not None:
            self.last_call = self._room.number_of_call()
        if self._reason is not None or self._recorder.is_busy() or self._turn.is_taken():
            return self._run(arguments)
        try:
            return self._recorded_or_run(arguments)
        finally:
            self._turn.end()

    def _recorded_or_run(self, arguments):
        self._leave_what_is_held()
        recording = self._recording
        if recording is None or not recording.fits(arguments, self._recorder.stream()) or self._has_settled(recording):
            recording = self._new_recording(arguments)
        elif not recording.may_overwrite(arguments):
            self.give_back(for_good=True)
            recording = None
        if recording is None:
            return self._run(arguments)
        return recording.replay(arguments, self._kept)

    def _leave_what_is_held(self):
        """What is held stays as it is; the next recording has memory of its own. Where others' results were guests in it, these
        may be what is held: they come no more."""
        held = [] if self._recording is None else self._recording.held()
        held = [memory for memory in held if not memory.numbers <= self._kept]
        for memory in held:
            if not memory.call_in(for_good=True):
                self._kept |= memory.numbers
        if held:
            self._kept_bytes = self._recording.bytes_of(self._kept)
            self._end_recording()

    def give_back(self, for_good):
        """Results lie no more, or `for_good` never again, in others' memory."""
        self._borrows = self._borrows and not for_good
        self._recording = None

    def _has_settled(self, recording):
        """Is it worth a recording, without a copy of what used to move?"""
        settled = recording.settled() - self._settled
        if not settled or self._recordings > MAX_RECORDINGS // 2:
            return False
        self._settled |= settled
        self._moving -= settled
        return True

    def _new_recording(self, arguments):
        """None where this call is to run unrecorded."""
        before, self._addresses = self._addresses, list(map(_address, arguments))
        self._calls += 1
        if before is None or len(before) != len(arguments):
            return None
        if self._recording is not None:
            moved = self._recording.moved(arguments)
        else:
            moved = {place for place, (was, now) in enumerate(zip(before, self._addresses)) if was != now}
        # What lies in memory of a recording stays there, but for one that did not last.
        if self._recordings <= MAX_RECORDINGS // 2:
            moved = {place for place in moved if Memory.of(arguments[place]) is None}
        if self._recording is None and self._calls < MAX_WARM_CALLS and _are_much(arguments, moved - self._moving):
            return None
        if self._recordings == MAX_RECORDINGS:
            return self._give_up(f"inputs have moved, or results were held, after each of {MAX_RECORDINGS} recordings")
        if self._room is not None and self._recording is None and not self._room.take(self):
            warn_once("replay sizes", "reduce-overhead: a graph runs without a CUDA graph for sizes beyond those that were "
                      "recorded: it is called with many.")
            return None
        if self._kept_bytes + _bytes_of(arguments, self._moving | moved) > self._most_copied:
            return self._give_up("to copy inputs that move and results that are held takes longer than its launches do")
        self._recordings += 1
        self._moving |= moved
        self._end_recording()  # Its memory is free for the next.
        try:
            self._recording = self._record(arguments)
        except NotRecordable as error:
            return self._give_up(str(error))
        return self._recording

    def _record(self, arguments):
        def record():
            lender = Lender(arguments, self, self._shown) if self._borrows else None
            return self._recorder.record(self._run, arguments, self._moving, self._makers, lender)

        try:
            return record()
        except NoMemory:
            if self._room is None or not self._room.clear():
                raise
        return record()

    def is_recorded(self):
        return self._recording is not None

    def give_way(self):
        """The recording goes, which may be made again; False where a call is under way."""
        if self._turn.is_taken():
            return False
        try:
            self._recordings -= self.is_recorded()
            self._end_recording()
        finally:
            self._turn.end()
        return True

    def _end_recording(self):
        if self._recording is not None:
            self._recording.call_in()
            self._recording = None

    def _give_up(self, reason):
        self._end_recording()
        self._reason = reason
        warn_once(("replay", reason), "reduce-overhead: a graph runs without a CUDA graph: %s.", reason)
        return None


def _bytes_of(arguments, places):
    return sum(arguments[place].nbytes for place in places if isinstance(arguments[place], torch.Tensor))


def _are_much(arguments, places):
    """To copy in each call."""
    return len(places) > FEW or any(
        isinstance(arguments[place], torch.Tensor) and arguments[place].nbytes >= LARGE for place in places)


def _address(argument):
    return argument.data_ptr() if isinstance(argument, torch.Tensor) else argument


class Recording:
    """What was recorded of one call on one stream. `launch` runs it; `places`: {place of an input that is copied: where
    to}; `results`: what it gives, each time at the same place, or the place of an input as a Given; `passing`: numbers of
    those that are there until something else runs; `lender`: who lent memory for some."""

    def __init__(self, launch, stream, arguments, places, results, passing=frozenset(), lender=None):
        self._launch = launch
        self._stream = stream
        still = [place for place in range(len(arguments)) if place not in places]
        self._still = {place: _address(arguments[place]) for place in still}
        # Compared in every call: addresses of tensors all at once, and numbers.
        tensors = [place for place in still if isinstance(arguments[place], torch.Tensor)]
        self._addresses = Addresses(arguments, tensors)
        self._numbers = [(place, arguments[place]) for place in still if place not in set(tensors)]
        self._copied = [(place, target, _extent(target) if overlaps(target) else None) for place, target in places.items()]
        # [place, where it came from, in how many calls one after the other]
        self._sources = [
            [place, None, 0] for place, target in places.items() if target.numel() * target.element_size() >= LARGE]
        # Where elements are one and the same, a tensor that lies otherwise is not what was recorded.
        self._overlapping = [(place, target.stride()) for place, target, extent in self._copied if extent is not None]
        self._results = results
        tensors = {number: result for number, result in enumerate(results) if isinstance(result, torch.Tensor)}
        self._shown = _copied_always(tensors, places) | passing
        own = {number: result for number, result in tensors.items() if number not in self._shown}
        self._loans = [] if lender is None else lender.settle(own)
        self._memories = _memories_of(own, tensors)
        places_of = {}  # Of a result that is given twice it is one tensor, as where nothing is recorded.
        self._firsts = [places_of.setdefault(id(result), number) for number, result in enumerate(results)]
        logger.info("recorded a CUDA graph: %d inputs stay, %d are copied", len(self._still), len(self._copied))

    def fits(self, arguments, stream):
        if stream != self._stream:
            return False
        if not self._addresses.are_of(arguments):
            return False
        for place, number in self._numbers:
            if arguments[place] != number:
                return False
        for place, strides in self._overlapping:
            if arguments[place].stride() != strides:
                return False
        return True

    def moved(self, arguments):
        return {place for place, address in self._still.items() if _address(arguments[place]) != address}

    def settled(self):
        """Places of large inputs that are copied from the same place all the time."""
        return {place for place, _, calls in self._sources if calls >= CALLS_OF_SETTLED}

    def bytes_of(self, numbers):
        """Of these results."""
        results = {id(self._results[number]): self._results[number] for number in numbers}
        return sum(result.nbytes for result in results.values() if isinstance(result, torch.Tensor))

    def held(self):
        """Memory with results that whoever got them still has."""
        return [memory for memory in self._memories if memory.holders()]

    def call_in(self):
        for memory in self._memories:
            memory.call_in(for_good=False)

    def may_overwrite(self, arguments):
        """Does nobody but this call need the memory that was lent for results?"""
        return all(loan.is_good(arguments) for loan in self._loans)

    def replay(self, arguments, kept):
        """`kept`: places of results of which copies are given."""
        for source in self._sources:
            address = _address(arguments[source[0]])
            source[1], source[2] = address, source[2] + 1 if address == source[1] else 0
        for place, target, extent in self._copied:
            if extent is not None:
                extent.copy_(_extent(arguments[place]))
            elif target.dim():
                target.copy_(arguments[place])
            else:
                target.fill_(arguments[place])  # A scalar of the CPU as well, without waiting.
        self._launch()
        given = []
        for number, (result, first) in enumerate(zip(self._results, self._firsts)):
            given.append(
                given[first] if first < number
                else self._given(result, arguments, number in kept or number in self._shown))
        return given

    @staticmethod
    def _given(result, arguments, is_copied):
        if isinstance(result, Given):
            return result.of(arguments)
        if not isinstance(result, torch.Tensor):
            return result
        return _copy_of(result) if is_copied else result.detach()


def overlaps(tensor):
    """May two of its elements be one, as expand() and unfold() make them? PyTorch writes to no such tensor."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _extent(tensor):
    """The memory from its first element to its last, as one dim."""
    reach = sum(stride * (size - 1) for stride, size in zip(tensor.stride(), tensor.shape))
    return tensor.as_strided((reach + 1 if tensor.numel() else 0,), (1,))


def _copy_of(tensor):
    """A copy that lies like it."""
    return _extent(tensor).clone().as_strided(tensor.shape, tensor.stride())


class Given:
    """A result that is an input, or elements of it: of this shape, with these strides, from so many elements behind its first on."""

    def __init__(self, place, shape=None, strides=None, offset=0):
        self._place = place
        self._shown = None if shape is None else (shape, strides, offset)

    def of(self, arguments):
        argument = arguments[self._place]
        if self._shown is None:
            return argument
        shape, strides, offset = self._shown
        return argument.detach().as_strided(shape, strides, argument.storage_offset() + offset)


def _copied_always(results, places):
    """Numbers of results of which each call makes copies: those that lie where inputs are copied to, those without elements, which
    out= and resize_() make room in, and the first that are numbers."""
    copies = {tensor.untyped_storage().data_ptr() for tensor in places.values()}
    shown = {
        number for number, result in results.items()
        if not result.numel() or result.untyped_storage().data_ptr() in copies}
    numbers = [number for number, result in results.items() if result.numel() == 1 and result.is_floating_point()]
    return shown.union(numbers[:MAX_NUMBERS])


def _memories_of(results, tensors):
    """Of `results`, {number: tensor}. `tensors`: all that the recording holds."""
    found = {}
    for number, result in results.items():
        found.setdefault(result.untyped_storage().data_ptr(), []).append(number)
    holders = {}
    for tensor in tensors.values():
        holders.setdefault(tensor.untyped_storage().data_ptr(), set()).add(id(tensor))
    return [
        Memory(results[numbers[0]].untyped_storage(), len(holders[address]), numbers) for address, numbers in found.items()]
