"""Host calls that libstoker does itself: a kernel of which all is known, for certain addresses, needs no Python."""

import ctypes
import threading

from ..libstoker import library
from ..pytorch.convolutions import is_repeatable

MAX_OF_CALL = 16  # Sets of addresses.


class KeptCalls:
    """Of one executable. `handle`: libstoker's. Calls are safe from any thread."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle
        self._lock = threading.RLock()
        self._is_used = False
        self._held = []  # recorded.Launches: libstoker reads there.
        self._counts = {}  # Number of a call -> of its sets of addresses.
        self._is_repeatable = None  # What their kernels were chosen by.

    def expect(self):
        """Calls may be kept, from now on."""
        self._is_used = True

    def begin(self):
        """Before a run in this thread: what done_since() takes."""
        if not self._is_used:
            return None
        if self._held and is_repeatable() != self._is_repeatable:
            self._forget()
        return self._library.stoker_kept_host_calls()

    def done_since(self, begun):
        """How many calls of this thread's were done so."""
        return 0 if begun is None else self._library.stoker_kept_host_calls() - begun

    def keep(self, number, addresses, launch):
        """`launch`: what call `number` has just given its stream, its tensors being there; None: that is not known."""
        if launch is None:
            return
        with self._lock:
            asked = is_repeatable()
            count = self._counts.get(number, 0)
            if self._held and (asked != self._is_repeatable or count >= MAX_OF_CALL):
                self._forget()
                count = 0
            self._is_repeatable = asked
            self._counts[number] = count + 1
            self._held.append(launch)  # Before libstoker knows it, whatever a signal handler raises.
            parts = library.KernelLaunch(*launch.parts)
            library.check(self._library.stoker_executable_keep_host_call(
                self._handle, number, (ctypes.c_void_p * len(addresses))(*addresses), len(addresses), ctypes.byref(parts)))

    def _forget(self):
        with self._lock:
            self._library.stoker_executable_forget_host_calls(self._handle)
            self._held, self._counts = [], {}
