"""Python's collector of cycles, which looks at all that a process holds: as long as a warm start, where PyTorch is loaded."""

import contextlib
import gc
import threading

from .locks import OfProcess


class _Pauses(OfProcess):
    before = None  # The thresholds outside of all pauses.

    def renew(self):
        self.lock = threading.Lock()
        self.count = 0  # Of those under way.
        self.release()

    def hold(self):
        self.before = gc.get_threshold()
        gc.set_threshold(0, *self.before[1:])

    def release(self):
        """Somebody may have set others meanwhile."""
        if self.before is not None and gc.get_threshold()[0] == 0:
            gc.set_threshold(*self.before)
        self.before = None


_pauses = _Pauses()


@contextlib.contextmanager
def paused():
    """For work that leaves few cycles. Whether the collector is on, other threads and signal handlers see and set as ever: a
    threshold of zero, which is not looked at, is what holds it."""
    with _pauses.lock:
        if _pauses.count == 0:
            _pauses.hold()
        _pauses.count += 1
    try:
        yield
    finally:
        with _pauses.lock:
            _pauses.count = max(_pauses.count - 1, 0)  # A child that was forked within has none.
            if _pauses.count == 0:
                _pauses.release()


@contextlib.contextmanager
def as_the_program_has_it():
    """For code of the program's, within a pause or not."""
    with _pauses.lock:
        _pauses.release()
    try:
        yield
    finally:
        with _pauses.lock:
            if _pauses.count:
                _pauses.hold()
