"""Weights go when their model does: an executable lets go of what it is bound to when one of the parameters dies.

Python may collect a parameter at any moment, in any thread, within any call. So its end is only noted then, and a
thread does what follows.
"""

import os
import queue
import threading
import weakref

_ended = queue.SimpleQueue()  # Bindings; may be put to from within anything.
_thread_of = {}  # Process id -> the thread: a forked process starts its own.


class Binding:
    """What one executable is bound to: keeps the memory, and not the parameters."""

    def __init__(self, executable, parameters, laid_out, before):
        """`before`: the executable's last binding, or None."""
        self._executable = weakref.ref(executable)
        self._laid_out = laid_out
        self._addresses = [parameter.data_ptr() for parameter in parameters]
        self._has_ended = False
        # Some callers make tensor objects for each call: their end means nothing.
        self._follows = before is None or before._follows and not (
            before._has_ended and before._addresses == self._addresses)
        self._parameters = [
            weakref.ref(parameter, self._note_end) for parameter in parameters] if self._follows else []
        if self._follows:
            _start_thread()

    def forget(self):
        self._laid_out = None
        self._parameters = []

    def _note_end(self, _):
        if not self._has_ended:
            self._has_ended = True
            _ended.put(self)

    def _release(self):
        executable = self._executable()
        if executable is not None:
            executable.release(self)


def _start_thread():
    pid = os.getpid()
    if pid not in _thread_of:
        _thread_of.clear()
        _thread_of[pid] = threading.Thread(target=_release_all, name="stoker-release", daemon=True)
        _thread_of[pid].start()


def _release_all():
    while True:
        _ended.get()._release()
