"""Graphs that run in eager because no daemon answered: compiled in the background once one does, and used from then on."""

import os
import time
import weakref

from ...base import background
from ...base.locks import ProcessLock
from ...base.log import logger, warn_of_bug
from ...libstoker.library import DEADLINE_EXCEEDED, UNAVAILABLE, LibraryNotFound, StokerError
from ...pytorch.marks import boxed

# Between tries while nobody answers; it doubles. The client's circuit breaker keeps most of them from costing anything.
FIRST_PAUSE_S = 1
LAST_PAUSE_S = 60

_lock = ProcessLock()  # Guards what follows.
_waiting = []  # References to _Later, in the order in which they came.
_thread = None  # The process id of the one that has it.


def may_come(error):
    """Whether what failed so may work once a daemon answers."""
    return (isinstance(error, StokerError) and not isinstance(error, LibraryNotFound)
            and error.code in (UNAVAILABLE, DEADLINE_EXCEEDED))


class _Later:
    def __init__(self, function, build):
        self.function = function
        self.build = build


def until(function, build):
    """A boxed callable that runs `function`, until build(), tried in the background while it raises an error that
    may_come(), has given another one. build() is called from a thread of its own."""
    later = _Later(function, build)
    _await(later)

    @boxed
    def run(arguments):
        return later.function(arguments)

    return run


def _await(later):
    global _thread
    with _lock():
        _waiting.append(weakref.ref(later))
        if _thread == os.getpid():
            return
        _thread = os.getpid()
    background.start("stoker-later", "graphs stay in eager", _work)


def _next():
    """The first that somebody still holds; None, and the thread ends, where there is none."""
    global _thread
    with _lock():
        while _waiting:
            if (later := _waiting[0]()) is not None:
                return later
            del _waiting[0]
        _thread = None
        return None


def _done(later):
    with _lock():
        _waiting[:] = [each for each in _waiting if each() is not later]


def _work():
    pause = FIRST_PAUSE_S
    while True:
        time.sleep(pause)
        while (later := _next()) is not None:
            try:
                later.function = later.build()
                logger.info("a graph that ran in eager is compiled")
            except Exception as error:
                if may_come(error):
                    break
                if isinstance(error, StokerError):
                    logger.warning("a graph stays in eager: %s", error)
                else:
                    warn_of_bug("a graph stays in eager", error)
            _done(later)
        if later is None:
            return
        del later  # Nobody is to be kept by the pause.
        pause = min(2 * pause, LAST_PAUSE_S)
