"""Audits: a start that could have been warm is traced after all, and the trace compared with the capture.

Where PyTorch is none that Stoker was tested with, the first starts of every capture are audited. One that differs
goes out of the store, for everyone, with one line that names the first difference; nothing of it has run.
"""

import json
import re

from ..library import StokerError
from ..log import logger, warn_once
from . import features, store
from .key import FORMAT, key_of_fields
from .notes import note
from .paths import text

FIRST_STARTS = 3  # Of each capture.

_PREFIX = re.compile(r"__stoker_[0-9a-f]+_")


def is_due(stored):
    """Is this start of a capture that holds to be audited?"""
    return not features.is_trusted() and _passed(stored) < FIRST_STARTS


def compare(key, stored, record):
    """Notes how the audit of a capture went. `record`: what was traced anew."""
    different = first_difference(stored.record(), json.loads(json.dumps(record)))
    if different is None:
        note(key.entry, "audited")
        store.put(_key(stored), f"audits of {key.entry}", {"passed": _passed(stored) + 1})
        return
    what, expected, found = different
    store.drop(key, stored)
    note(key.entry, "differing", what, f"{found}, not {expected}")
    warn_once(
        ("differing", key.entry), "a capture of %s was wrong and is dropped: %s is %s in a new trace, not %s.",
        key.entry, what, found, expected)


def first_difference(one, other):
    """(what, of one, of the other) of two records of the same start, or None."""
    for what, read in _PARTS:
        expected, found = read(one), read(other)
        if expected != found:
            return what, _first_of(expected, found), _first_of(found, expected)
    return None


def _guards(record):
    return sorted(
        f"{text(record['nodes'], place)} {kind} "
        f"{text(record['nodes'], expected) if kind == 'same' else expected}"
        for place, kind, expected, _ in record["guards"])


def _bytecode(record):
    return [_PREFIX.sub("", json.dumps(record[part], sort_keys=True)) for part in ("code", "globals")]


_PARTS = (
    ("a guard", _guards),
    ("a guard on sizes", lambda record: sorted(record["shapes"])),
    ("code", lambda record: record["codes"]),
    ("a name in code", lambda record: record["chains"]),
    ("the bytecode", _bytecode),
    ("a graph", lambda record: [graph["eager"] for graph in record["graphs"]]),
    ("what happens around a graph", lambda record: [graph["runtime"] for graph in record["graphs"]]),
)


def _first_of(these, others):
    """What is in one list alone, for people."""
    return str(next((item for item in these if item not in others), "nothing"))[:300]


def _passed(stored):
    try:
        for found in store.find(_key(stored)).captures:
            return int(found.record()["passed"])
    except (StokerError, ValueError, KeyError, TypeError) as error:
        logger.info("captures: no audit is known: %r", error)
    return 0


def _key(stored):
    return key_of_fields((("entry", f"audits of {stored.digest}"), ("frontend", f"format {FORMAT}")))
