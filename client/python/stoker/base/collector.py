"""Python's collector of cycles, which looks at all that a process holds: as long as a warm start, where PyTorch is loaded."""

import contextlib
import gc

from .locks import OfProcess, ProcessLock

_FROZEN_BY_PYTHON = 1000  # At most, as it begins: 375 objects in Python 3.12. Of more, the program has frozen some.


class _Pauses(OfProcess):
    before = None  # The thresholds outside of all pauses.
    put_off_after = None  # How many times all objects had been looked at.

    def renew(self):
        self.under_way = set()
        self.release()

    def hold(self):
        if self.before is None:
            self.before = gc.get_threshold()
            gc.set_threshold(0, *self.before[1:])

    def release(self):
        """Somebody may have set others meanwhile."""
        if self.before is not None and gc.get_threshold()[0] == 0:
            gc.set_threshold(*self.before)
        self.before = None

    def put_off(self):
        """What has waited would come with the next objects that are made, over all that the process holds where that is due:
        within the call that the pause is for. So the collector begins to count anew, with all objects as old ones, and looks at
        them when as many more have been made as ever. Once, until it has: many starts must not keep it from that."""
        is_due = any(count >= threshold > 0 for count, threshold in zip(gc.get_count(), self.before or ()))
        whole = gc.get_stats()[-1]["collections"]
        if is_due and whole != self.put_off_after and gc.get_freeze_count() <= _FROZEN_BY_PYTHON:
            self.put_off_after = whole
            gc.freeze()
            gc.unfreeze()

    def begin(self, pause):
        with _lock():
            self.under_way.add(pause)
            self.hold()

    def end(self, pause):
        with _lock():
            self.under_way.discard(pause)
            if not self.under_way:
                self.put_off()  # While it is held: it would begin with what this makes.
                self.release()


_lock = ProcessLock()
_pauses = _Pauses()


@contextlib.contextmanager
def paused():
    """For work that leaves few cycles. Whether the collector is on, other threads and signal handlers see and set as ever: a
    threshold of zero, which is not looked at, is what holds it."""
    pause = object()
    try:
        _pauses.begin(pause)
        yield
    finally:
        try:
            _pauses.end(pause)
        finally:  # A signal handler may have raised in the midst of that.
            _pauses.end(pause)


@contextlib.contextmanager
def as_the_program_has_it():
    """For code of the program's, within a pause or not."""
    try:
        with _lock():
            _pauses.release()
        yield
    finally:
        with _lock():
            if _pauses.under_way:
                _pauses.hold()
