"""Gate: many may pass at once, or one alone. Of a forked process nobody is inside."""

import threading
from contextlib import contextmanager

from ..base.locks import OfProcess


class Gate(OfProcess):
    def renew(self):
        self._changed = threading.Condition()  # Of a lock that its thread may take again.
        self._inside = 0
        self._closed = False

    def enter(self):
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._inside += 1

    def leave(self):
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    @contextmanager
    def alone(self):
        """Waits until nobody is inside and keeps everybody out."""
        self._close()
        try:
            yield
        finally:
            self._open()

    def enter_after(self, first):
        """Enters, having called first() alone, before anybody else does. What that raises keeps out."""
        with self.alone():
            first()
            self._inside += 1

    def _close(self):
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._closed = True
            try:
                while self._inside:
                    self._changed.wait()
            except BaseException:  # A signal's.
                self._open()
                raise

    def _open(self):
        with self._changed:
            self._closed = False
            self._changed.notify_all()
