"""Host calls that libstoker does itself: what turned out to be one kernel, for certain addresses and sizes, needs no Python."""

import ctypes
import threading

from ..base import tally
from ..base.log import logger
from ..base.signals import let_through
from ..libstoker import library
from ..pytorch.convolutions import is_repeatable

MAX_OF_CALL = 64  # Sets of addresses and sizes: no fewer than host_calls.py has ready.


class KeptCalls:
    """Of one executable. `handle`: libstoker's. Calls are safe from any thread."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle
        self._lock = threading.RLock()
        self._is_used = False
        self._tried = {}  # Number of a call -> its sets of addresses, and sizes where they vary, recorded or not.
        self._is_repeatable = None  # What their kernels were chosen by.

    def expect(self):
        """Calls may be kept, from now on."""
        self._is_used = True

    def begin(self):
        """Before a run in this thread: what done_since() takes."""
        if not self._is_used:
            return None
        if self._tried and is_repeatable() != self._is_repeatable:
            self._forget()
        return self._library.stoker_kept_host_calls()

    def done_since(self, begun):
        """How many calls of this thread's were done so."""
        return 0 if begun is None else self._library.stoker_kept_host_calls() - begun

    def record(self, number, addresses, sizes, give):
        """`give`: a function of a stream, that gives it what call `number` is, its tensors being there, of these sizes; none:
        they do not vary."""
        with self._lock:
            asked = is_repeatable()
            if self._tried and asked != self._is_repeatable:
                self._forget()
            self._is_repeatable = asked
            place = addresses, sizes
            if place in self._tried.get(number, ()):
                return
            if len(self._tried.get(number, ())) >= MAX_OF_CALL:
                self._forget()
            self._tried.setdefault(number, set()).add(place)
            if self._is_recorded(number, addresses, sizes, give):
                tally.count("convolutions_recorded")

    def _is_recorded(self, number, addresses, sizes, give):
        giving, is_kept = _Giving(give), ctypes.c_int32()
        status = self._library.stoker_executable_record_host_call(
            self._handle, number, (ctypes.c_void_p * len(addresses))(*addresses), len(addresses),
            (ctypes.c_int64 * len(sizes))(*sizes), len(sizes), giving.function, None, ctypes.byref(is_kept))
        giving.raise_interrupt()
        library.check(status)
        return bool(is_kept.value)

    def _forget(self):
        with self._lock:
            self._library.stoker_executable_forget_host_calls(self._handle)
            self._tried = {}


class _Giving:
    """`function`: give(), for libstoker. What it raises is no reason not to go on; what a signal handler raises is."""

    def __init__(self, give):
        self._give = give
        self._has_begun = self._has_ended = False
        self._error = None
        self.function = library.GiveFunction(self._run)

    def _run(self, _context, stream):
        self._has_begun = True
        try:
            self._give(stream)
            return 0
        except BaseException as error:  # Nothing may pass through C.
            self._error = error
            return 1

    def raise_interrupt(self):
        if self._error is None:
            return
        let_through(self._error)
        if not isinstance(self._error, Exception):
            raise self._error
        logger.debug("not recorded: %s", self._error)
