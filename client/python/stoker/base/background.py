"""Threads of Stoker's own: what goes wrong in one is one line of a warning, and no traceback in the job's output."""

import atexit
import threading

from .living import Living
from .locks import OfProcess
from .log import warn_of_bug

INTERVAL_S = 1.0
_EXIT_S = 10  # How long the interpreter's end waits for what is under way.


def start(name, consequence, function, *arguments):
    """A thread that calls function(*arguments). `consequence`: of its not coming to an end, as warn_of_bug says it."""
    def run():
        try:
            function(*arguments)
        except Exception as error:
            warn_of_bug(consequence, error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


class Repeated(OfProcess):
    """A function that a thread calls once an interval, while it is needed. A forked process has a thread of its own."""

    _all = Living()

    def __init__(self, name, consequence, function, is_needed):
        """`consequence`: of the thread's not going on, as warn_of_bug says it."""
        self._name, self._consequence, self._function, self._is_needed = name, consequence, function, is_needed
        super().__init__()
        self._all.add(self)

    def renew(self):
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._thread = None

    def start(self):
        """It is needed now."""
        with self._lock:
            if self._thread is None:
                self._thread = start(self._name, self._consequence, self._repeat)

    def _repeat(self):
        while not self._end.wait(INTERVAL_S):
            self._function()
            with self._lock:
                if not self._is_needed():
                    self._thread = None
                    return

    def end(self):
        self._end.set()
        thread = self._thread
        if thread is not None:
            thread.join(_EXIT_S)


@atexit.register
def _stop():
    """A thread that lets go of a tensor while the interpreter is taken down ends the process: PyTorch's C++ waits for the
    interpreter's lock then, and nobody may leave that wait but by the end of the thread."""
    for each in Repeated._all:
        each.end()
