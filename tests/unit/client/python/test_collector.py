"""Pauses of Python's collector of cycles: what the program had is what it has, within them where its own code runs."""

import gc
import threading

import pytest

from stoker.base import collector


@pytest.fixture(autouse=True)
def with_collector():
    yield
    gc.enable()


def test_a_pause_ends_in_what_was_before():
    with pytest.raises(KeyError), collector.paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    with collector.paused():
        pass
    assert not gc.isenabled()


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
    assert not gc.isenabled()
    end.set()
    thread.join()
    assert gc.isenabled()


def test_code_of_the_program_has_what_it_had_and_may_change_it():
    with collector.paused(), collector.as_the_program_has_it():
        assert gc.isenabled()
    with collector.as_the_program_has_it():
        assert gc.isenabled()
    with collector.paused():
        with collector.as_the_program_has_it():
            gc.disable()
        assert not gc.isenabled()
    assert not gc.isenabled()
    with collector.paused(), collector.as_the_program_has_it():
        assert not gc.isenabled()
        gc.enable()
    assert gc.isenabled()
