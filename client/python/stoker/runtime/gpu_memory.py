"""Where calls on GPUs have memory from that they work in: PyTorch's own allocator, so that both share what is free, and a CUDA
graph has its own from where PyTorch records it to. And when: what a plan gives may be made as the plan comes to it, and what it
is given let go of where nothing reads it any more, as the backward pass of a model is given all that its layers kept and gives
the gradients of all weights, layer by layer."""

import ctypes
import functools
import itertools
from typing import NamedTuple

from ..libstoker import library
from ..libstoker.library import FAILED_PRECONDITION, AllocateFunction, FreeFunction, StokerError, TurnFunction
from ..pytorch import devices
from .loaded import cannot_start_over

# A turn takes microseconds of the processor's time: how many of them, and what they have to save together.
MAX_TURNS, WORTH = 16, 32 << 20  # Bytes.
_LARGE = 1 << 20  # Outputs with fewer bytes are made at first.


def _allocate(_context, ordinal, size, stream):
    try:
        return devices.take_memory(ordinal, size, stream or 0)
    except Exception:  # Nothing may pass through C: the call fails, and its graph runs in eager.
        return None


def _free(_context, _ordinal, address, _stream):
    devices.give_memory_back(address)


@functools.cache
def share():
    """From now on, in this process. Gives what must stay alive for that."""
    functions = AllocateFunction(_allocate), FreeFunction(_free)
    library.check(library.load().stoker_set_device_allocator(*functions, None))
    return functions


class Turn(NamedTuple):
    step: int  # Before which it is.
    outputs: tuple  # Numbers of those that are made then.
    inputs: tuple  # Numbers of those that are let go of first.


def turns_of(inputs, outputs):
    """Turns of a plan, in order; none where they save little. `inputs`: (bytes, the last step that reads it) of each that may be let
    go of; `outputs`: (bytes, the first step that names it) of each. A step below 0: none does."""
    late = sorted((step, number) for number, (size, step) in enumerate(outputs) if size >= _LARGE and step > 0)
    share = sum(outputs[number][0] for _, number in late) / MAX_TURNS
    turns, held = [], share
    for step, number in late:
        if held >= share and (not turns or step > turns[-1][0]):
            turns.append((step, []))
            held = 0
        turns[-1][1].append(number)
        held += outputs[number][0]
    going = sorted((last, number) for number, (_, last) in enumerate(inputs))
    found, first = [], 0
    for step, made in turns:
        end = next((place for place in range(first, len(going)) if going[place][0] >= step), len(going))
        found.append(Turn(step, tuple(made), tuple(number for _, number in going[first:end])))
        first = end
    together = sum(size for size, _ in (*inputs, *outputs))
    return found if together - _most(found, inputs, outputs, together) >= WORTH else []


def _most(turns, inputs, outputs, together):
    """Bytes at once, with the turns."""
    most = now = together - sum(outputs[number][0] for turn in turns for number in turn.outputs)
    for turn in turns:
        now += sum(outputs[number][0] for number in turn.outputs) - sum(inputs[number][0] for number in turn.inputs)
        most = max(most, now)
    return most


class TurnsOfCall:
    """Those of one call. take(turn) is called at each."""

    _numbers = itertools.count(1)
    _running = {}  # By number: what is to happen.

    def __init__(self, turns, take):
        self._turns, self._take = turns, take
        self._done = 0
        self._error = None

    def __enter__(self):
        """What stoker_executable_run_in_turns takes at its end."""
        count = len(self._turns)
        self._number = next(self._numbers)
        self._running[self._number] = self
        return (ctypes.c_int64 * count)(*[turn.step for turn in self._turns]), count, _TURN, self._number

    def __exit__(self, kind, error, _traceback):
        del self._running[self._number]
        if self._error is not None:
            raise self._error
        # As in host_calls.py: what a signal's handler raises before the first line of a turn nobody can catch.
        if self._done < len(self._turns) and (error is None or _is_missing(error)):
            raise KeyboardInterrupt("between kernels, where nothing could take it")
        if self._done and isinstance(error, StokerError):
            raise cannot_start_over(error) from error

    def run(self, number):
        try:
            self._take(self._turns[number])
            self._done = number + 1
            return 0
        except BaseException as error:  # For whoever runs the executable: nothing may pass through C.
            self._error = error
            return 1


def _is_missing(error):
    """Has libstoker found that a turn did not happen?"""
    return isinstance(error, StokerError) and error.code == FAILED_PRECONDITION and (
        " has no memory when step " in str(error) or "The caller failed in turn " in str(error))


_TURN = TurnFunction(lambda number, turn: TurnsOfCall._running[number].run(turn))
