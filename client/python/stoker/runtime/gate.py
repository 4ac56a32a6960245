"""Gate: many may pass at once, or one alone. Of a forked process nobody is inside.

A signal handler may come into the midst of any line here. What it raises ends what it came into, whose pass is void from then
on; if it comes back to the gate, it is told that its own thread is inside: it would wait for itself. And if it waits for
another thread that comes here, this one is told so after a while: code of the program has interrupted the thread inside.
"""

import os
import sys
import threading
import time

from ..base.locks import OfProcess

FIRST_PAUSE_S, LAST_PAUSE_S = 2e-5, 5e-3  # Of who waits, each twice as long as the one before.
LONGEST_S = 0.5  # That a thread waits for another one, while this runs code of the program's in the midst of its pass.
_OWN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


class Inside(Exception):
    """This thread has a pass already, in a frame that goes on when this one is done; or another one has, which may wait for
    this thread."""


class Gate(OfProcess):
    def renew(self):
        # Its thread may take it again. No condition: a signal in the midst of what Python does for one would leave that taken.
        self._lock = threading.RLock()
        self._inside = {}  # Pass -> the thread that has it.
        self._alone = None  # (pass, thread) of who is alone, or waits until all others have left.
        self._missed = {}  # Pass -> when its frame was looked for in vain.

    def run_inside(self, is_ready, make_ready, given, call):
        """call(leave), inside: with is_ready(given) true, or after make_ready(given), which nobody else is inside beside; what
        that raises keeps out. leave() may be called before the end. Inside where this thread would have to wait for itself, or
        for one that may wait for it."""
        own = object()

        def leave():
            self._leave(own)

        try:
            self._enter(own)
            if not is_ready(given):
                self._leave(own)
                self._close(own, LONGEST_S)
                make_ready(given)
                self._enter(own)
                self._open(own)
            return call(leave)
        finally:
            self._open(own)
            self._leave(own)

    def run_alone(self, action, longest=float("inf")):
        """action(), when nobody is inside; everybody else is kept out. Inside, where it would wait for itself, or for more than
        `longest` seconds for one that may wait for it."""
        own = object()
        try:
            self._close(own, longest)
            return action()
        finally:
            self._open(own)

    def run_alone_or_beside(self, action):
        """The same, but where it would be told that it is inside, beside those that are."""
        try:
            return self.run_alone(action, LONGEST_S)
        except Inside:
            return action()

    def _enter(self, own):
        if not self._may_enter(own):
            self._wait_until(lambda: self._may_enter(own), LONGEST_S)

    def _may_enter(self, own):
        """It is inside, then."""
        thread = threading.get_ident()
        with self._lock:
            # Who waits to be alone waits for the frames below of a thread that is inside.
            may = self._alone is None or self._alone[0] is own or self._has(thread)
            if may:
                self._inside[own] = thread
            elif self._is_mine(self._alone):
                raise Inside
        return may

    def _leave(self, own):
        self._inside.pop(own, None)

    def _close(self, own, longest):
        self._wait_until(lambda: self._may_close(own), longest)
        self._wait_until(lambda: not self._inside or self._refuse_to_wait_for_itself(), longest)

    def _may_close(self, own):
        """Nobody enters any more, then."""
        with self._lock:
            if self._alone is not None:
                if self._is_mine(self._alone):
                    raise Inside
                return self._refuse_to_wait_for_itself()
            self._alone = own, threading.get_ident()
        return True

    def _refuse_to_wait_for_itself(self):
        if self._has(threading.get_ident()):
            raise Inside
        return False

    def _open(self, own):
        alone = self._alone
        if alone is not None and alone[0] is own:  # Nobody else changes it, then.
            self._alone = None

    def _has(self, thread):
        """Is the thread inside?"""
        return any(other == thread and _is_valid(own, other) for own, other in list(self._inside.items()))

    @staticmethod
    def _is_mine(alone):
        return alone[1] == threading.get_ident() and _is_valid(*alone)

    def _wait_until(self, is_reached, longest):
        """`longest`: seconds for which it waits for a thread that is interrupted."""
        pause, since = FIRST_PAUSE_S, None
        while not is_reached():
            time.sleep(pause)
            if pause >= LAST_PAUSE_S:
                self._void_passes()
                since = (since or time.monotonic()) if self._is_interrupted() else None
                if since is not None and time.monotonic() - since > longest:
                    raise Inside
            pause = min(2 * pause, LAST_PAUSE_S)

    def _is_interrupted(self):
        """Does a thread run code of the program's in the midst of its pass? An operator of PyTorch has left before."""
        return any(_is_foreign(frame) for own, thread in self._passes() for frame in _frames_above(own, thread) or ())

    def _passes(self):
        alone = self._alone  # Another thread may open the gate meanwhile.
        return [*self._inside.items(), *([] if alone is None else [alone])]

    def _void_passes(self):
        """Those of frames that an exception has ended between two lines."""
        with self._lock:
            missed = {
                own: self._missed.get(own, time.monotonic()) for own, thread in self._passes() if not _is_valid(own, thread)}
            # Twice: a thread goes on while somebody looks at its frames, and then some of them seem to lead nowhere.
            for own in [own for own, since in missed.items() if time.monotonic() - since >= LAST_PAUSE_S]:
                self._leave(own)
                self._open(own)
            self._missed = missed

def _is_valid(own, thread):
    """Is the frame that has the pass still there?"""
    return _frames_above(own, thread) is not None


def _frames_above(own, thread):
    """Those in which the frame that has the pass waits for what it has called; None where that frame is not there."""
    frames, frame = [], sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code in _PASSING and frame.f_locals.get("own") is own:
            return frames
        frames.append(frame)
        frame = frame.f_back
    return None


def _is_foreign(frame):
    return not frame.f_code.co_filename.startswith(_OWN)


_PASSING = (Gate.run_inside.__code__, Gate.run_alone.__code__)
