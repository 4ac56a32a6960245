"""Pauses of Python's collector of cycles: what the program had is what it has, within them where its own code runs."""

import gc
import os
import threading
import weakref

import pytest

from stoker.base import collector


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    """Nothing is frozen; tests have much of PyTorch so (conftest.py)."""
    before = gc.get_threshold()
    monkeypatch.setattr(collector._pauses, "count", 0)
    gc.unfreeze()
    yield before
    gc.enable()
    gc.set_threshold(*before)
    gc.freeze()


class Cycle:
    def __init__(self):
        self.itself = self


def lost():
    """A weak reference to a cycle that nobody else has."""
    return weakref.ref(Cycle())


def make_due(kept):
    """The next objects make Python look at all there are."""
    gc.set_threshold(100, 1, 1)
    while gc.get_count()[2] <= 1:
        kept.append([])


def is_held():
    return gc.get_freeze_count() > 1000


def test_what_was_there_before_is_looked_at_after_it():
    kept = []
    make_due(kept)
    old = lost()
    with pytest.raises(KeyError), collector.paused():
        assert is_held()
        new = lost()
        gc.collect()
        assert old() is not None and new() is None
        raise KeyError
    assert not is_held()
    gc.collect()
    assert old() is None


def test_what_is_due_comes_later():
    """Not with the first objects that are made after it: within the call that the pause is for."""
    kept = []
    make_due(kept)
    old = lost()
    with collector.paused():
        pass
    assert gc.get_count()[2] <= 1
    kept += [[] for _ in range(150)]
    assert old() is not None


def test_many_pauses_do_not_keep_python_from_it(monkeypatch):
    monkeypatch.setattr(collector, "_MAX_WITHOUT_WHOLE", 3)
    gc.collect()
    held = []
    for _ in range(5):
        with collector.paused():
            held.append(is_held())
    assert held == [True, True, True, False, False]
    gc.collect()
    with collector.paused():
        assert is_held()


def test_a_program_that_has_frozen_objects_keeps_them_so():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector.paused():
        assert [[] for _ in range(5000)]
    assert gc.get_freeze_count() > frozen - 100 > 1000  # Some that other tests hold may die meanwhile.


@pytest.mark.parametrize("collects", [False, True])
def test_what_the_program_freezes_meanwhile_stays_so(collects):
    with collector.paused():
        if collects:
            gc.collect()
        thread = threading.Thread(target=gc.freeze)
        thread.start()
        thread.join()
    assert is_held()
    gc.unfreeze()
    with collector.paused():
        gc.collect()
        gc.unfreeze()
    assert not is_held()


@pytest.mark.parametrize("is_on", [True, False])
def test_switch_and_thresholds_are_not_touched(thresholds, is_on):
    """What another thread reads then, and puts back after the end of the pause, is what was there: PyTorch's compiler does."""
    if not is_on:
        gc.disable()
    with collector.paused():
        assert gc.get_threshold() == thresholds and gc.isenabled() is is_on
        with collector.as_the_program_has_it():
            assert gc.get_threshold() == thresholds and gc.isenabled() is is_on
    assert gc.get_threshold() == thresholds and gc.isenabled() is is_on


def test_the_last_of_several_pauses_ends_them():
    inside, end = threading.Event(), threading.Event()

    def pause():
        with collector.paused():
            inside.set()
            end.wait()

    thread = threading.Thread(target=pause)
    with collector.paused():
        thread.start()
        inside.wait()
    assert is_held()
    end.set()
    thread.join()
    assert not is_held()


def test_what_others_set_meanwhile_stays():
    with collector.paused():
        gc.disable()
        gc.set_threshold(500, 5, 5)
    assert not gc.isenabled() and gc.get_threshold()[:2] == (500, 5)


def test_a_child_that_is_forked_within_has_none():
    with collector.paused():
        child = os.fork()
        if not child:
            os._exit(1 if is_held() else 0)
        assert os.waitpid(child, 0)[1] == 0
        assert is_held()


def test_code_of_the_program_has_what_it_had():
    old = lost()
    with collector.paused():
        with collector.as_the_program_has_it():
            assert not is_held()
            gc.collect()
            assert old() is None
        assert is_held()
    with collector.as_the_program_has_it():
        assert not is_held()
    assert not is_held()
