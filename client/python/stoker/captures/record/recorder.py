"""Around one run of Dynamo on a frame: what it traces becomes a capture."""

import functools
import sys
from contextlib import contextmanager

from ...base import collector
from ...base.log import logger, warn_of_bug
from ...base.signals import is_of_program, let_through
from ...libstoker.library import StokerError
from ...pytorch import state
from ..audit import audit, beside
from ..store import store
from ..store.notes import note
from ..trust import features
from ..words.paths import Scope
from ..words.values import NotPortable
from . import recording
from .record import build

_CONSEQUENCE = "a capture is not stored"


class Recorder:

    def __init__(self, start, code, local_values, global_values, check_of):
        """`start`: a frames.Start; check_of(record, local values, global values): what _finish gives."""
        self._key, self._audited, self._code, self._check_of = start.key, start.audited, code, check_of
        self._scope = Scope(local_values, global_values)
        self._loaded = frozenset(sys.modules)
        self._state, self._reason = None, None
        try:
            self._state = state.current()
        except NotPortable as error:
            self._reason = str(error)

    @contextmanager
    def frame(self):
        """Around Dynamo's work on the frame. Gives what is called when it is done."""
        with recording.frame() as leaves:
            yield functools.partial(self._finish, leaves)

    def _finish(self, leaves, recorded):
        """Stores what was traced. `leaves`: of recording.frame; `recorded`: a pytorch.frames.Recorded, or None. Gives
        what check_of does, or (None, None). Never raises."""
        check = None, None
        if recorded is None:
            self._reason = "a frame of which Dynamo compiles nothing"
        try:
            if self._reason is None and features.may_be_on():
                with collector.paused():
                    record, first_calls = build(
                        self._key, self._scope, self._state, self._loaded, recorded.trace, leaves, recorded.code,
                        self._code)
                _when_taken(first_calls, lambda: features.when_decided(lambda: self._store(record)))
                check = self._check_of(record, self._scope.local_values, self._scope.global_values)
        except NotPortable as error:
            self._reason = str(error)
        except Exception as error:
            let_through(error)
            if is_of_program(error):
                self._reason = f"what raises where it is looked at: {type(error).__name__}"
            else:
                warn_of_bug(_CONSEQUENCE, error)
        if beside.is_child():
            beside.end()
        if self._reason is not None:
            note(self._key.entry, "local", self._reason)
        return check

    def _store(self, record):
        """Never raises."""
        try:
            self._put(record)
        except StokerError as error:
            logger.info("captures: the daemon does not take one: %s", error)
        except Exception as error:
            let_through(error)
            warn_of_bug(_CONSEQUENCE, error)

    def _put(self, record):
        off = features.first_off(record)
        if off is not None:
            note(self._key.entry, "local", f"{off}, which are off")
            return
        if self._audited is not None and (
                audit.stands_for(self._key, self._audited, record) or beside.is_child()):
            return
        summary = f"{len(record['guards'])} guards, {len(record['graphs'])} graphs"
        store.put(self._key, f"{self._key.entry}, {summary}", record)
        note(self._key.entry, "recorded", detail=summary)


def _when_taken(first_calls, action):
    """Calls action() when all of these are."""

    def act_if_last():
        if all(call.is_taken for call in first_calls):
            action()

    if not first_calls:
        action()
    for call in first_calls:
        call.then(act_if_last)
