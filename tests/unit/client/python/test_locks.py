"""Locks that forks open, and that no signal handler leaves taken."""

import os
import threading
import types

from stoker.base.locks import ProcessLock, Turn


def is_free(lock):
    """For another thread."""
    found = []

    def take():
        if lock().acquire(timeout=5):
            found.append(lock().release())

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return bool(found)


def test_python_itself_takes_it_and_gives_it_back():
    lock = ProcessLock()
    kind = type(lock())
    assert isinstance(kind.__enter__, types.MethodDescriptorType) and isinstance(kind.__exit__, types.MethodDescriptorType)
    with lock():
        with lock():  # From a signal handler, say.
            pass
    assert is_free(lock)


def test_a_child_finds_it_free():
    lock, turn = ProcessLock(), Turn()
    held, end = threading.Event(), threading.Event()

    def hold():
        with lock():
            held.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert not turn.is_taken()
    child = os.fork()
    if not child:
        os._exit(0 if lock().acquire(blocking=False) and not turn.is_taken() else 1)
    end.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_a_turn_is_one_at_a_time_for_whoever_asks():
    turn = Turn()
    assert not turn.is_taken() and turn.is_taken()
    turn.end()
    assert not turn.is_taken()
