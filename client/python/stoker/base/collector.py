"""Python's collector of cycles, which looks at all that a process holds: as long as a warm start, where PyTorch is loaded."""

import contextlib
import gc
import os
import threading

_lock = threading.Lock()
_pauses = 0  # How many are under way.
_before = None  # The thresholds outside of all of them.


@contextlib.contextmanager
def paused():
    """For work that leaves few cycles. Whether the collector is on, other threads and signal handlers see and set as ever: a
    threshold of zero, which is not looked at, is what holds it."""
    global _pauses
    with _lock:
        if _pauses == 0:
            _hold()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses = max(_pauses - 1, 0)  # A child that was forked within has none.
            if _pauses == 0:
                _release()


@contextlib.contextmanager
def as_the_program_has_it():
    """For code of the program's, within a pause or not."""
    with _lock:
        _release()
    try:
        yield
    finally:
        with _lock:
            if _pauses:
                _hold()


def _hold():
    global _before
    _before = gc.get_threshold()
    gc.set_threshold(0, *_before[1:])


def _release():
    """Somebody may have set others meanwhile."""
    global _before
    if _before is not None and gc.get_threshold()[0] == 0:
        gc.set_threshold(*_before)
    _before = None


def _begin_in_child():
    global _lock, _pauses
    _lock, _pauses = threading.Lock(), 0
    _release()


os.register_at_fork(after_in_child=_begin_in_child)
