"""Locks of a module."""

import os
import threading


class ProcessLock:
    """As threading.Lock, and open in a forked process: whoever held it is not there."""

    def __init__(self):
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self):
        self._lock = threading.Lock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()
