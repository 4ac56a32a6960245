"""Python's collector of cycles, which looks at all that a process holds: as long as a warm start, where PyTorch is loaded."""

import contextlib
import gc
import threading

_lock = threading.Lock()
_pauses = 0  # How many are under way.
_is_on = False  # Outside of all of them.


@contextlib.contextmanager
def paused():
    """For work that leaves few cycles."""
    global _pauses, _is_on
    with _lock:
        if _pauses == 0:
            _is_on = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _is_on:
                gc.enable()


@contextlib.contextmanager
def as_the_program_has_it():
    """For code of the program's, within a pause or not."""
    global _is_on
    with _lock:
        if _pauses and _is_on:
            gc.enable()
    try:
        yield
    finally:
        with _lock:
            if _pauses:
                _is_on = gc.isenabled()
                gc.disable()
