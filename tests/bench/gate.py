"""Many start side by side; who is timed has the machine to himself."""

import contextlib
import threading


class Gate:
    """Who has begun goes on until it is to be timed, beside others that have; nobody begins before all who wait to be
    timed were."""

    def __init__(self):
        self._changed = threading.Condition()
        self._beside = self._to_be_timed = 0
        self._alone = False

    @contextlib.contextmanager
    def beside_others(self, begins=False):
        """For what computes and is not timed; `begins`: the first of what one does."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not (begins and self._to_be_timed))
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self):
        """Nothing else computes meanwhile."""
        with self._changed:
            self._to_be_timed += 1
            self._changed.wait_for(lambda: not self._beside and not self._alone)
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._to_be_timed -= 1
                self._changed.notify_all()
