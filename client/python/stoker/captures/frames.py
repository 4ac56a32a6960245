"""One frame of a compiled function: find a capture that holds, or record one."""

from .. import tally
from ..client import client
from ..library import StokerError
from ..log import captures_logger, logger, warn_once
from . import recording, state, store
from .install import Installed, install
from .key import key_of
from .paths import Scope
from .program import Failure
from .record import build
from .values import NotPortable

_target = []


def _host_target():
    """What artifacts are compiled for on this machine."""
    if not _target:
        _target.append(client().describe()["target"])
    return _target[0]


def find(code, module_name, local_values, global_values, options, wrap):
    """(Installed or None, CaptureKey or None). Never raises: without a capture Dynamo traces."""
    key = None
    try:
        key = key_of(code, module_name, local_values, options, _host_target())
        return _find(key, code, local_values, global_values, wrap), key
    except StokerError as error:
        logger.info("captures: the daemon does not answer: %s", error)
    except Exception as error:  # A bug of ours must not end a job.
        warn_once(("captures", repr(error)), "a start is not warm, by a bug in Stoker: %r", error)
        logger.debug("the bug", exc_info=True)
    return None, key


def _find(key, code, local_values, global_values, wrap):
    found = store.find(key)
    failures = []
    if found.damaged:
        failures.append(Failure("damaged", "a capture", "whole", "damaged bytes"))
        _refused(key, failures[0])
    for stored in found.captures:
        try:
            outcome = install(
                stored.record(), local_values, global_values, code.co_filename, wrap)
        except StokerError:
            raise
        except Exception as error:  # Its digest fits, but this frontend cannot read it.
            logger.debug("the capture", exc_info=True)
            outcome = Failure("damaged", "a capture", "readable", repr(error))
            store.drop(key, stored)
            _refused(key, outcome)
        if isinstance(outcome, Installed):
            _note(key, "hit", detail=f"{outcome.guards} guards, {outcome.graphs} graphs")
            return outcome
        failures.append(outcome)
    if failures:
        _note(key, "miss", failures[0].reason, str(failures[0]))
    else:
        _note(key, "miss", "no capture", found.miss_reason)
    return None


def _refused(key, failure):
    warn_once("captures damaged", "a stored capture is refused: %s", failure)
    _note(key, "damaged", failure.reason, str(failure))


class Recorder:
    """Around one run of Dynamo on a frame."""

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
            _note(self._key, "local", self._reason)

    def _store(self, record):
        summary = f"{len(record['guards'])} guards, {len(record['graphs'])} graphs"
        store.put(self._key, f"{self._key.entry}, {summary}", record)
        _note(self._key, "recorded", detail=summary)


def _note(key, outcome, reason="", detail=""):
    """Counts, says and reports how a start went."""
    tally.count(f"captures.{outcome}" + (f".{reason}" if reason else ""))
    captures_logger.info(
        "%s: %s%s%s", outcome, key.entry, reason and f": {reason}", detail and f": {detail}")
    try:
        store.note(key.entry, outcome, reason, detail)
    except StokerError as error:
        logger.debug("the daemon does not take notes: %s", error)


__all__ = ["Recorder", "find"]
