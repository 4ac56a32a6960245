"""Python's collector of cycles, which looks at all that a process holds: as long as a warm start, where PyTorch is loaded."""

import contextlib
import gc

from .locks import OfProcess, ProcessLock

_FROZEN_BY_PYTHON = 1000  # At most, as it begins: 375 objects in Python 3.12. Of more, the program has frozen some.
_MAX_WITHOUT_WHOLE = 64  # Pauses, until all objects have been looked at once more: many starts must not keep Python from that.


class _Pauses(OfProcess):
    """While there are any, what was there before is frozen: collections look at what is new alone, and Python counts anew for those
    of all objects. Nothing else is touched that the program, another thread or PyTorch, which raises a threshold while it
    compiles, may read and put back later."""

    is_held = False
    mark = None  # A list of what it alone refers to, newer than what is frozen.
    count = 0  # Since all objects were looked at.
    whole = None  # How many times that had been.

    def renew(self):
        self.under_way = set()
        self.release()

    def hold(self):
        if self.count <= _MAX_WITHOUT_WHOLE and gc.get_freeze_count() <= _FROZEN_BY_PYTHON:
            self.is_held, self.mark = True, None  # A signal handler may raise before there is another.
            gc.freeze()
            self.mark = [[]]

    def release(self):
        if self.is_held and not self.is_frozen_by_others():
            gc.unfreeze()
        self.is_held = False

    def is_frozen_by_others(self):
        """What refers to an object Python looks for among what is not frozen: quickly, for that is new."""
        return self.mark is not None and all(each is not self.mark for each in gc.get_referrers(self.mark[0]))

    def begin(self, pause):
        with _lock():
            if not self.under_way:
                whole = gc.get_stats()[-1]["collections"]
                self.count = 1 if whole != self.whole else self.count + 1
                self.whole = whole
                self.hold()
            self.under_way.add(pause)

    def end(self, pause):
        with _lock():
            self.under_way.discard(pause)
            if not self.under_way:
                self.release()


_lock = ProcessLock()
_pauses = _Pauses()


@contextlib.contextmanager
def paused():
    """For work that leaves few cycles. Whether the collector is on, and at which thresholds, everybody sees and sets as ever."""
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
            if _pauses.under_way and not _pauses.is_held:
                _pauses.hold()
