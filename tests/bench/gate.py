"""Starts side by side, of which one at a time is timed, while nothing else computes.

STOKER_BENCH_GATE names a file that all of them lock: shared while they build, compile and make their first call, and
for themselves while they are timed. Who is to be timed goes first: nobody begins to compile before all of them were.
Without the variable a start has the machine to itself.
"""

import contextlib
import fcntl
import os

VARIABLE = "STOKER_BENCH_GATE"


@contextlib.contextmanager
def _locked(path, how):
    with open(path, "a") as file:
        fcntl.flock(file, how)
        yield


class Gate:
    def __init__(self, path):
        self._path = path
        self._beside_others = contextlib.ExitStack()

    def enter(self):
        """Begins what may be done beside others, when nobody is to be timed."""
        if self._path:
            with _locked(f"{self._path}.next", fcntl.LOCK_EX):
                self._beside_others.enter_context(_locked(self._path, fcntl.LOCK_SH))

    @contextlib.contextmanager
    def alone(self):
        """Nothing else computes meanwhile."""
        self._beside_others.close()
        with contextlib.ExitStack() as held:
            if self._path:
                held.enter_context(_locked(f"{self._path}.next", fcntl.LOCK_SH))
                held.enter_context(_locked(self._path, fcntl.LOCK_EX))
            yield


def of_environment():
    return Gate(os.environ.get(VARIABLE))
