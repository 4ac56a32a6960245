"""Locks that are open in a forked process: whoever held them in the first one is not there."""

import os
import threading

from .living import Living

_all = Living()


def _renew():
    for each in _all:
        each.renew()


os.register_at_fork(after_in_child=_renew)


class OfProcess:
    """What other threads may hold: renew() makes it anew, at first and in a forked process."""

    def __init__(self):
        self.renew()
        _all.add(self)

    def renew(self):
        raise NotImplementedError


class ProcessLock(OfProcess):
    """`with lock():`, as with a threading.RLock, which a signal handler may take again in the midst of what it guards. It is
    what Python itself takes and gives back: a handler that raises between two lines of ours would leave it taken."""

    def renew(self):
        self._lock = threading.RLock()

    def __call__(self):
        return self._lock


class Turn(OfProcess):
    """Something that happens once at a time: who comes meanwhile, even from a signal handler, is told so."""

    def renew(self):
        self._lock = threading.Lock()

    def is_taken(self):
        """False: it is the caller's now, who ends it."""
        return not self._lock.acquire(blocking=False)

    def end(self):
        self._lock.release()
