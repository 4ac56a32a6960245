"""Audits: the frame of a start that is or could be warm is traced all the same, and the trace compared with the capture.

Where PyTorch is none that Stoker was tested with, the first starts of every capture are traced in place of being warm:
nothing of one that differs has run. Elsewhere a share of the warm starts is traced beside the job (beside.py): one in
64, and the first with other installed packages than it was recorded with. A capture that differs goes out of the store,
for everyone, with one line that names the first difference.
"""

import functools
import json
import re
import secrets
from os import environ  # A program may put something else into its place.

from ...base.log import logger, warn_once
from ...base.signals import let_through
from ...libstoker.library import StokerError
from ..store import store
from ..store.key import key_of_fields, recorder_text
from ..store.notes import note
from ..trust import features
from ..words.code import what_it_does
from ..words.paths import text
from ..words.versions import packages
from .beside import WRONG

FIRST_STARTS = 3  # Of each capture.
ONE_IN = "STOKER_AUDIT_ONE_IN"  # Warm starts; 0: none is drawn.
DEFAULT_ONE_IN = 64

_TYPES_OF_NUMBERS = ("builtins:int", "builtins:float")
_PREFIX = re.compile(r"__stoker_[0-9a-f]+_")


def is_due(stored):
    """Is this start of a capture that holds to be audited?"""
    return not features.is_trusted() and _passed(stored) < FIRST_STARTS


def is_drawn(stored, record):
    """Is this warm start to be audited beside the job?"""
    if features.mode() == "audit":
        return True
    if not _one_in() or features.mode() == "trial":
        return False
    changed = packages() not in (record["packages"], _audits(stored).get("packages"))
    return changed or secrets.randbelow(_one_in()) == 0  # The program's random numbers stay its own.


@functools.cache
def _one_in():
    text = environ.get(ONE_IN, str(DEFAULT_ONE_IN))
    if text.isdecimal():
        return int(text)
    warn_once(ONE_IN, "%s is '%s', which is no number of starts; %d is used.", ONE_IN, text, DEFAULT_ONE_IN)
    return DEFAULT_ONE_IN


def stands_for(key, stored, record):
    """Does the capture say what was traced anew, `record`? Notes how its audit went; one that is wrong is dropped."""
    expected, found = stored.record(), json.loads(json.dumps(record))
    different = first_difference(expected, found)
    if different is not None and _are_as_general(expected, found):
        what, before, now = different
        store.drop(key, stored)
        note(key.entry, "differing", what, f"{now}, not {before}")
        warn_once(
            ("differing", key.entry), WRONG, key.entry, what, now, before)
        return False
    # One that holds for others is right, too, and nothing is to be compared.
    if different is None:
        note(key.entry, "audited")
    store.put(_key(stored), f"audits of {key.entry}", {
        "passed": _passed(stored) + 1, "packages": packages()})
    return different is None


def first_difference(one, other):
    """(what, of one, of the other) of two records of the same start, or None."""
    for what, read in _PARTS:
        expected, found = read(one), read(other)
        if expected != found:
            return what, _first_of(expected, found), _first_of(found, expected)
    return None


def _are_as_general(one, other):
    """Do two records hold for the same sizes and numbers? Which ones a trace leaves open, and what it asks of these, depends
    on what was traced before, and on those that it meets."""
    opened, fixed = zip(*(_numbers(record) for record in (one, other)))
    return (
        _symbolic_dims(one) == _symbolic_dims(other) and sorted(one["shapes"]) == sorted(other["shapes"])
        and not opened[0] & fixed[1] and not opened[1] & fixed[0])


def _symbolic_dims(record):
    """Of each guarded tensor: which of its dims are symbolic."""
    nodes = record["nodes"]
    return sorted(
        f"{text(nodes, place)} {[size is None for size in expected['size']]}"
        for place, kind, expected, _ in record["guards"] if kind == "tensor")


def _numbers(record):
    """(those that are guarded by type alone, those that are guarded by value)"""
    opened, fixed = set(), set()
    for place, kind, expected, _ in record["guards"]:
        if kind == "type" and expected[0] in _TYPES_OF_NUMBERS:
            opened.add(text(record["nodes"], place))
        elif kind == "equals" and (type(expected) is int or isinstance(expected, dict) and "float" in expected):
            fixed.add(text(record["nodes"], place))
    for number, leaves in enumerate(_optimizers(record)):
        for place, each in enumerate(leaves):
            if type(each) is dict and "number" in each:
                opened.add(f"optimizer {number}: {place}")
            elif type(each) is dict and type(each["value"]) is dict and "float" in each["value"]:
                fixed.add(f"optimizer {number}: {place}")
    return opened, fixed


def _optimizers(record):
    """Of each, the words of its leaves."""
    return record["optimizers"]["words"]["leaves"] if record["optimizers"] is not None else []


def _guards(record):
    return sorted(
        f"{text(record['nodes'], place)} {kind} "
        f"{text(record['nodes'], expected) if kind == 'same' else expected}"
        for place, kind, expected, _ in record["guards"])


def _bytecode(record):
    made = []
    for number, (_, kind, body) in enumerate(record["globals"]):
        made += _does(body, f"{kind} {number}") if kind in ("function", "maker") else [f"{kind} {body}"]
    return [*_does(record["code"], "the frame"), *made]


def _does(code, name):
    """Without what is never come to: where Dynamo goes on from a function that goes on itself, it leaves the start of that in,
    if it came from a capture."""
    return [f"{name}: {each}" for each in what_it_does(code, lambda global_name: _PREFIX.sub("", global_name))]


def _of_optimizers(record):
    described = record["optimizers"]
    if described is None:
        return []
    places = [
        f"{name} {text(record['nodes'], place)}" for name in ("places", "only_same", "others") for place in described[name]]
    return sorted(places) + [f"{name}: {value}" for name, value in described["words"].items() if name != "others"]


_PARTS = (
    ("a guard", _guards),
    ("a guard on sizes", lambda record: sorted(record["shapes"])),
    ("code", lambda record: record["facts"]["codes"]),
    ("the bytecode", _bytecode),
    ("an optimizer", _of_optimizers),
    ("what a graph holds", lambda record: [graph.get("held") for graph in record["graphs"]]),
    ("a graph", lambda record: [graph["eager"] for graph in record["graphs"]]),
    ("a backward graph", lambda record: [(graph.get("backward") or {}).get("eager") for graph in record["graphs"]]),
    ("what happens around a graph", lambda record: [graph["runtime"] for graph in record["graphs"]]),
)


def _first_of(these, others):
    """What is in one list alone, for people."""
    return str(next((item for item in these if item not in others), "nothing"))[:300]


def _passed(stored):
    passed = _audits(stored).get("passed")
    return passed if isinstance(passed, int) else 0


def _audits(stored):
    """What is known of its audits so far."""
    try:
        for found in store.find(_key(stored)).captures:
            known = found.record()
            return known if isinstance(known, dict) else {}
    except (StokerError, ValueError) as error:
        let_through(error)
        logger.info("captures: no audit is known: %r", error)
    return {}


def _key(stored):
    return key_of_fields((("entry", f"audits of {stored.digest}"), ("frontend", recorder_text())))
