"""Recordings of a program that is called with many sizes: how many there are, and which give way."""

import pytest
import torch

from stoker.runtime.replays import room
from stoker.runtime.replays.replay import MAX_RECORDINGS, NoMemory, Replayed
from unit.client.python.test_replay import Recorder

MOST, PATIENCE = 3, 20


class OfSizes:
    """A program of which each size has a function of its own."""

    def __init__(self):
        self.recorder = Recorder()
        self._room = room.Room()
        self._weight = torch.randn(1)
        self._inputs, self._replayed = {}, {}

    def call(self, size):
        """What it gives, compared with what that is."""
        x = self._inputs.setdefault(size, torch.randn(size))
        if size not in self._replayed:
            self._replayed[size] = Replayed(lambda given: [given[0] * given[1]], self.recorder, room=self._room)
        result, = self._replayed[size]([x, self._weight])
        assert torch.equal(result, x * self._weight)
        return result

    def recorded(self):
        return {size for size, replayed in self._replayed.items() if replayed.is_recorded()}


@pytest.fixture
def program(monkeypatch):
    monkeypatch.setattr(room, "MAX_SIZES", MOST)
    monkeypatch.setattr(room, "PATIENCE", PATIENCE)
    return OfSizes()


def called(program, *sizes, times=2):
    for size in sizes:
        for _ in range(times):
            program.call(size)


def test_as_many_sizes_as_there_is_room_for_are_recorded(program):
    called(program, 1, 2, 3, 4, 5)
    assert program.recorded() == {1, 2, 3}
    called(program, 5, 4, 1)
    assert program.recorded() == {1, 2, 3} and len(program.recorder.recorded) == 3


def test_one_that_is_not_called_for_long_gives_way_to_another(program):
    called(program, 1, 2, 3)
    called(program, 1, 3, times=PATIENCE // 2)
    called(program, 4)
    assert program.recorded() == {1, 3, 4}
    called(program, 2)
    assert program.recorded() == {1, 3, 4}


def test_what_gave_way_is_recorded_again_however_often(program):
    sizes = range(MOST + 1)
    for _ in range(MAX_RECORDINGS + 2):
        for size in sizes:
            called(program, size, times=PATIENCE)
            assert size in program.recorded()


def test_results_of_one_that_gave_way_stay(program):
    called(program, 1)
    held = program.call(1)
    before = held.clone()
    called(program, 2, 3, times=PATIENCE)
    called(program, 4, times=3)
    assert program.recorded() == {2, 3, 4} and torch.equal(held, before)


def test_all_give_way_where_there_is_no_memory_for_the_next(program):
    record = program.recorder.record
    fails = []

    def fail_first(*arguments):
        if not fails:
            fails.append(True)
            raise NoMemory("out of memory")
        return record(*arguments)

    called(program, 1, 2)
    program.recorder.record = fail_first
    called(program, 3)
    assert program.recorded() == {3}


def test_without_memory_for_one_alone_nothing_is_recorded_any_more(program):
    def fail(*_):
        raise NoMemory("out of memory")

    called(program, 1)
    program.recorder.record = fail
    called(program, 2, times=3)
    assert not program.recorded()


def test_one_that_runs_does_not_give_way(program):
    called(program, 1, 2, 3)
    called(program, 2, 3, times=PATIENCE)
    oldest = program._replayed[1]
    assert not oldest._turn.is_taken()
    try:
        called(program, 4)
        assert program.recorded() == {1, 2, 3}
    finally:
        oldest._turn.end()
    called(program, 4)
    assert program.recorded() == {2, 3, 4}
