"""Locks that are open in a forked process: whoever held them in the first one is not there."""

import os
import threading
import weakref

_all = weakref.WeakSet()


def _renew():
    for each in list(_all):
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
    """As threading.Lock."""

    def renew(self):
        self._lock = threading.Lock()

    def try_to_acquire(self):
        return self._lock.acquire(blocking=False)

    def release(self):
        self._lock.release()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
