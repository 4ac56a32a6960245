"""Audits: a start that could have been warm is traced after all, and the trace compared with the capture.

Where PyTorch is none that Stoker was tested with, the first starts of every capture are audited. One that differs
goes out of the store, for everyone, with one line that names the first difference; nothing of it has run.
"""

import json
import re

from ..library import StokerError
from ..log import logger, warn_once
from . import features, store
from .digests import digest_of
from .key import key_of_fields, recorder_text
from .notes import note
from .paths import text

FIRST_STARTS = 3  # Of each capture.

_PREFIX = re.compile(r"__stoker_[0-9a-f]+_")


def is_due(stored):
    """Is this start of a capture that holds to be audited?"""
    return not features.is_trusted() and _passed(stored) < FIRST_STARTS


def stands_for(key, stored, record):
    """Does the capture say what was traced anew, `record`? Notes how its audit went; one that is wrong is dropped."""
    expected, found = stored.record(), json.loads(json.dumps(record))
    different = first_difference(expected, found)
    if different is not None and _symbolic_dims(expected) == _symbolic_dims(found):
        what, before, now = different
        store.drop(key, stored)
        note(key.entry, "differing", what, f"{now}, not {before}")
        warn_once(
            ("differing", key.entry),
            "a capture of %s was wrong and is dropped: %s is %s in a new trace, not %s.",
            key.entry, what, now, before)
        return False
    # One of symbolic sizes and one of these sizes alone are both right, and nothing is to be compared.
    if different is None:
        note(key.entry, "audited")
    store.put(_key(stored), f"audits of {key.entry}", {"passed": _passed(stored) + 1})
    return different is None


def first_difference(one, other):
    """(what, of one, of the other) of two records of the same start, or None."""
    for what, read in _PARTS:
        expected, found = read(one), read(other)
        if expected != found:
            return what, _first_of(expected, found), _first_of(found, expected)
    return None


def _symbolic_dims(record):
    """Of each guarded tensor: which of its dims are symbolic."""
    nodes = record["nodes"]
    return sorted(
        f"{text(nodes, place)} {[size is None for size in expected['size']]}"
        for place, kind, expected, _ in record["guards"] if kind == "tensor")


def _guards(record):
    return sorted(
        f"{text(record['nodes'], place)} {kind} "
        f"{text(record['nodes'], expected) if kind == 'same' else expected}"
        for place, kind, expected, _ in record["guards"])


def _bytecode(record):
    return [*_instructions(record["code"]), *(
        f"{kind} {_instructions(body) if kind == 'function' else body}"
        for _, kind, body in record["globals"])]


def _instructions(code):
    """What the code does, without lines, and without names of locals: Dynamo numbers them."""
    constants = [
        _instructions(constant["code"]) if isinstance(constant, dict) and "code" in constant
        else constant for constant in code["co_consts"]]
    names = [_PREFIX.sub("", name) for name in code["co_names"]]
    return [
        f"instructions with digest {digest_of(code['co_code'])}", f"constants {constants}",
        f"names {names}", f"{len(code['co_varnames'])} locals"]


_PARTS = (
    ("a guard", _guards),
    ("a guard on sizes", lambda record: sorted(record["shapes"])),
    ("code", lambda record: record["facts"]["codes"]),
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
    return key_of_fields((("entry", f"audits of {stored.digest}"), ("frontend", recorder_text())))
