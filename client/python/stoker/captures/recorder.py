"""Around one run of Dynamo on a frame: what it traces becomes a capture."""

from ..library import StokerError
from ..log import logger, warn_once
from . import recording, state, store
from .notes import note
from .paths import Scope
from .record import build
from .values import NotPortable


class Recorder:

    def __init__(self, key, code, local_values, global_values):
        self._key, self._code = key, code
        self._scope = Scope(local_values, global_values)
        self._state, self._reason = None, None
        try:
            self._state = state.current()
        except NotPortable as error:
            self._reason = str(error)

    def frame(self):
        return recording.frame()

    def finish(self, trace, new_code):
        """Stores what was traced. Never raises."""
        try:
            if self._reason is None:
                self._store(build(
                    self._key, self._scope, self._state, trace, new_code, self._code))
        except NotPortable as error:
            self._reason = str(error)
        except StokerError as error:
            logger.info("captures: the daemon does not take one: %s", error)
        except Exception as error:
            warn_once(("captures", repr(error)), "a capture is not stored, by a bug in Stoker: %r", error)
            logger.debug("the bug", exc_info=True)
        if self._reason is not None:
            note(self._key.entry, "local", self._reason)

    def _store(self, record):
        summary = f"{len(record['guards'])} guards, {len(record['graphs'])} graphs"
        store.put(self._key, f"{self._key.entry}, {summary}", record)
        note(self._key.entry, "recorded", detail=summary)
