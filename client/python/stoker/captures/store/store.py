"""Captures in the daemon's store, through its socket alone: a capture is code, and is run.

libstoker puts each into an envelope with its SHA-256 and its writer's signature and opens it again: what is found here
is by this user, or by a writer that STOKER_TRUSTED_WRITERS names.
"""

import ctypes
import functools
import json
import weakref
from typing import NamedTuple

from ...base.log import logger
from ...libstoker import library
from ...libstoker.client import client
from ...libstoker.library import FAILED_PRECONDITION, StokerError

MAX_DETAIL = 8000


class _Captures:
    """libstoker's captures of one key, freed with the last that looks at them."""

    def __init__(self, handle):
        self.handle = handle
        weakref.finalize(self, library.load().stoker_captures_free, handle).atexit = False


class Stored:
    """One capture that was found."""

    def __init__(self, among, index):
        self.among, self.index = among, index
        self.digest = library.decode(library.load().stoker_captures_digest(among.handle, index))

    @functools.cached_property
    def content(self):
        """Its bytes. Only now is its writer's signature looked at: ValueError if it does not fit."""
        size = ctypes.c_size_t()
        data = library.load().stoker_captures_data(self.among.handle, self.index, ctypes.byref(size))
        if data is None:
            raise ValueError("Its writer did not sign it for this key.")
        return ctypes.string_at(data, size.value)

    def record(self):
        """Raises ValueError when it is no JSON, or not signed."""
        return json.loads(self.content)


def has_symbolic_sizes(record):
    """Does a graph of this capture serve many sizes?"""
    return any("symbolic" in graph for graph in record["graphs"])


def trains(record):
    """Does one of its graphs compute gradients?"""
    return any("backward" in graph for graph in record["graphs"])


class Found(NamedTuple):
    captures: list  # By writers who are trusted: the own ones first, of each writer the most recent first.
    damaged: int  # Envelopes that did not hold what was put into them.
    untrusted: int  # Where there is none: other writers who have some under the key.
    miss_reason: str


def find(key):
    calls = library.load()
    among = _Captures(library.make_handle(
        calls.stoker_client_find_captures, client().handle, key.digest.encode(), _fields(key)))
    count = calls.stoker_captures_count(among.handle)
    return Found(
        [Stored(among, index) for index in range(count)],
        calls.stoker_captures_damaged(among.handle), calls.stoker_captures_untrusted(among.handle),
        library.decode(calls.stoker_captures_miss_reason(among.handle)))


def put(key, label, record):
    put_content(key, label, json.dumps(record, separators=(",", ":")).encode())


def put_content(key, label, data):
    library.check(library.load().stoker_client_put_capture(
        client().handle, key.digest.encode(), _fields(key), label.encode(), data, len(data)))


def use(key, label, stored):
    """Says that this process runs what it found, for its manifest (STOKER_RECORD)."""
    library.check(library.load().stoker_client_record_capture(
        client().handle, key.digest.encode(), _fields(key), _text(label), stored.among.handle, stored.index))


def drop(key, stored):
    """Takes a capture that was refused out of the store, if this user wrote it, or it is damaged."""
    try:
        library.check(library.load().stoker_client_drop_capture(
            client().handle, key.digest.encode(), stored.digest.encode()))
    except StokerError as error:
        if error.code != FAILED_PRECONDITION:
            raise
        logger.info("captures: one that was refused stays: %s", error)


def note(entry, outcome, reason="", detail=""):
    """How a start went, for the daemon's statistics and `stoker explain`."""
    library.check(library.load().stoker_client_note_capture(
        client().handle, _text(entry), outcome.encode(), _text(reason, 120),
        _text(detail, MAX_DETAIL)))


def _fields(key):
    return json.dumps(key.fields).encode()


def _text(text, limit=1000):
    return text.replace("\0", "").encode(errors="replace")[:limit]
