"""Weights go when their model does: an executable lets go of what it is bound to when one of the parameters dies.

Python may collect a parameter at any moment, in any thread, within any call. So its end is only noted then, and a
thread does what follows.
"""

import atexit
import os
import queue
import threading
import weakref

_ended = queue.SimpleQueue()  # Bindings; may be put to from within anything.
_thread_of = {}  # Process id -> the thread: a forked process starts its own.
_is_over = False  # The interpreter ends, and with it all weights.
_MAX_IN_VAIN = 3  # How often the same contents may come back at once before their end is not looked for any more.
_EXIT_S = 10  # How long its end waits for a release under way.


class Binding:
    """What one executable is bound to: keeps the memory, and not the parameters."""

    def __init__(self, executable, parameters, laid_out, sample, before):
        """`sample`: a number, another one for other contents; `before`: the executable's last binding, or None."""
        self._executable = weakref.ref(executable)
        self._laid_out = laid_out
        self._contents = [sample, *(parameter.data_ptr() for parameter in parameters)]
        self._has_ended = False
        # Some callers make tensor objects for each call: their end means nothing.
        is_back = before is not None and before._has_ended and before._contents == self._contents
        self._in_vain = before._in_vain + 1 if is_back else 0
        if self._in_vain < _MAX_IN_VAIN:
            self._parameters = [weakref.ref(parameter, self._note_end) for parameter in parameters]
            _start_thread()
        else:
            self._parameters = []

    def forget(self):
        self._laid_out = None
        self._parameters = []

    def _note_end(self, _):
        if not self._has_ended and not _is_over:
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
    while (binding := _ended.get()) is not None:
        binding._release()


@atexit.register
def _stop():
    """A thread that lets go of a tensor while the interpreter is taken down ends the process: PyTorch's C++ waits for the
    interpreter's lock then, and nobody may leave that wait but by the end of the thread."""
    global _is_over
    _is_over = True
    thread = _thread_of.get(os.getpid())
    if thread is not None:
        _ended.put(None)
        thread.join(_EXIT_S)
