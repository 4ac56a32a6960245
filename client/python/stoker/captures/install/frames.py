"""One frame of a compiled function: find a capture that holds. Nothing of torch._dynamo is needed for that."""

import contextlib
from typing import Any, NamedTuple

from ...base.log import logger, warn_of_bug, warn_once
from ...base.signals import let_through
from ...libstoker import gpus_ahead
from ...libstoker.client import client
from ...libstoker.library import StokerError
from ...pytorch import devices
from ...pytorch.names import CAPTURES, DIRECT
from ..audit import audit, beside
from ..check.program import Failure
from ..store import store
from ..store.key import FORMAT, CaptureKey, key_of
from ..store.notes import note
from ..trust import features
from ..words.identity import Describer
from .install import Installed, install


class Start(NamedTuple):
    """What a frame that Dynamo traces is recorded for, or what stands in its place."""

    key: CaptureKey
    audited: Any = None  # The store.Stored that the trace is to be compared with.


class Missed(BaseException):
    """No capture holds, where nothing is to be traced."""


_audited = None  # In an audit's child: the Start.
_stops = None  # Does a miss end the call? Of trials and tests, which ask what starts warm.


@contextlib.contextmanager
def stopping_at_misses(where=lambda: True):
    """Inside, a frame that no capture holds for raises Missed instead of being traced, where where() says so."""
    global _stops
    before, _stops = _stops, where
    try:
        yield
    finally:
        _stops = before


def find(code, module_name, local_values, global_values, options, wrap, replays):
    """(Installed or None, Start or None). Raises nothing but Missed, where that is asked for: without a capture Dynamo
    traces. `replays`: as the caller's mode asks, which no capture depends on."""
    found, start = _find_one(code, module_name, local_values, global_values, options, wrap, replays)
    if found is None and _stops is not None and _stops():
        raise Missed
    return found, start


def _find_one(code, module_name, local_values, global_values, options, wrap, replays):
    key = None
    if beside.is_child():
        return None, _audited
    try:
        gpus_ahead.warm_up(devices.gpu_in_use())
        describe = Describer()
        key = key_of(
            code, module_name, local_values, options, client().target, client().processor,
            client().compiler_epoch(), describe)
        if not features.are_on(DIRECT if wrap is None else CAPTURES):
            return None, Start(key)
        return _find(
            key, lambda record: install(
                record, local_values, global_values, code.co_filename, wrap, describe, replays))
    except StokerError as error:
        logger.info("captures: the daemon does not answer: %s", error)
    except Exception as error:
        let_through(error)
        warn_of_bug("a start is not warm", error)
    return None, None if key is None else Start(key)


def audit_beside(start, trace):
    """trace() calls the frame again, in a child, if the warm start was drawn. Never raises."""
    if start.audited is None:
        return

    def trace_it():
        global _audited
        _audited = start
        trace()

    try:
        if not beside.run(trace_it):
            logger.info("captures: no audit of %s can run beside the job now", start.key.entry)
    except Exception as error:
        let_through(error)
        warn_of_bug("a start is not audited", error)


def _find(key, try_to_install):
    found = store.find(key)
    failures = []
    if found.damaged:
        failures.append(Failure("damaged", "a capture", "whole", "damaged bytes"))
        _refused(key, failures[0])
    for stored in found.captures:
        try:
            record = stored.record()
            _require_own(record, key)
            outcome = try_to_install(record)
        except StokerError:
            raise
        except Exception as error:  # Its digest fits, but this frontend cannot read it.
            let_through(error)
            logger.debug("the capture", exc_info=True)
            outcome = Failure("damaged", "a capture", "readable", repr(error))
            store.drop(key, stored)
            _refused(key, outcome)
        if isinstance(outcome, Installed) and audit.is_due(stored):
            note(key.entry, "miss", "audit")
            return None, Start(key, stored)
        if isinstance(outcome, Installed):
            summary = f"{outcome.guards} guards, {outcome.graphs} graphs"
            store.use(key, f"{key.entry}, {summary}", stored)
            note(key.entry, "hit", detail=summary)
            return outcome, Start(key, stored if audit.is_drawn(stored, record) else None)
        failures.append(outcome)
    if failures:
        note(key.entry, "miss", failures[0].reason, str(failures[0]))
    else:
        note(key.entry, "miss", "untrusted writer" if found.untrusted else "no capture", found.miss_reason)
    return None, Start(key)


def _require_own(record, key):
    """ValueError for one that was recorded under another key, or by another frontend."""
    if record["format"] != FORMAT:
        raise ValueError(f"Its format is {record['format']}, not {FORMAT}.")
    if record["key"] != [list(field) for field in key.fields]:
        raise ValueError("It was recorded under another key.")


def _refused(key, failure):
    warn_once("captures damaged", "a stored capture is refused: %s", failure)
    note(key.entry, "damaged", failure.reason, str(failure))


IS_LOADED = True
