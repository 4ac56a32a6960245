"""Pauses of Python's collector of cycles: what the program had is what it has, within them where its own code runs."""

import gc
import os
import threading
import weakref

import pytest

from stoker.base import collector


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield before
    gc.enable()
    gc.set_threshold(*before)


def collections_of(count):
    """Of the youngest objects, while so many live."""
    before = gc.get_stats()[0]["collections"]
    kept = [[] for _ in range(count)]
    return gc.get_stats()[0]["collections"] - before + (not kept)


def test_a_pause_ends_in_what_was_before(thresholds):
    assert collections_of(20_000) > 0
    with pytest.raises(KeyError), collector.paused():
        assert collections_of(20_000) == 0 and gc.isenabled()
        raise KeyError
    assert gc.get_threshold() == thresholds and collections_of(20_000) > 0
    gc.disable()
    with collector.paused():
        pass
    assert not gc.isenabled()


@pytest.fixture
def nothing_frozen():
    """As tests have much of PyTorch (conftest.py). Python knows then how many objects are old."""
    gc.unfreeze()
    gc.collect()
    yield
    gc.freeze()


def make_all_due():
    """All objects are due, but so few are new that Python leaves the old ones alone."""
    gc.set_threshold(100, 1, 1)
    kept = []
    while gc.get_count()[2] <= 1:
        kept.append([])


@pytest.mark.parametrize("frozen", [0, 375])  # As Python 3.11 and 3.12 begin.
def test_a_pause_puts_off_what_is_due_and_not_twice(monkeypatch, nothing_frozen, frozen):
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(collector._pauses, "put_off_after", None)
    for counts_anew in (True, False):
        make_all_due()
        with collector.paused():
            pass
        assert (gc.get_count()[2] <= 1) is counts_anew
    gc.collect()
    make_all_due()
    with collector.paused():
        pass
    assert gc.get_count()[2] <= 1


def test_what_is_put_off_is_still_found(nothing_frozen):
    class Cycle:
        pass

    cycle = Cycle()
    cycle.itself, gone = cycle, weakref.ref(cycle)
    make_all_due()
    del cycle
    with collector.paused():
        pass
    gc.collect()
    assert gone() is None


def test_a_program_that_has_frozen_objects_keeps_them_so(monkeypatch):
    thawed, unfreeze = [], gc.unfreeze
    monkeypatch.setattr(gc, "unfreeze", lambda: thawed.append(True))
    gc.freeze()
    try:
        with collector.paused():
            assert [[] for _ in range(5000)]
        assert not thawed and gc.get_freeze_count() > 0
    finally:
        unfreeze()


def test_the_last_of_several_pauses_ends_them(thresholds):
    inside, end = threading.Event(), threading.Event()

    def pause():
        with collector.paused():
            inside.set()
            end.wait()

    thread = threading.Thread(target=pause)
    with collector.paused():
        thread.start()
        inside.wait()
    assert collections_of(20_000) == 0
    end.set()
    thread.join()
    assert gc.get_threshold() == thresholds


def test_what_others_set_meanwhile_stays(thresholds):
    with collector.paused():
        gc.disable()
    assert not gc.isenabled() and gc.get_threshold() == thresholds
    with collector.paused():
        gc.set_threshold(500, 5, 5)
    assert gc.get_threshold()[:2] == (500, 5)


def test_a_child_that_is_forked_within_has_none(thresholds):
    with collector.paused():
        child = os.fork()
        if not child:
            os._exit(0 if gc.get_threshold() == thresholds else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert gc.get_threshold() != thresholds


def test_code_of_the_program_has_what_it_had_and_may_change_it(thresholds):
    with collector.paused():
        with collector.as_the_program_has_it():
            assert gc.get_threshold() == thresholds
        assert collections_of(20_000) == 0
    with collector.as_the_program_has_it():
        assert gc.get_threshold() == thresholds
    with collector.paused(), collector.as_the_program_has_it():
        gc.set_threshold(500, 5, 5)
    assert gc.get_threshold()[:2] == (500, 5)
