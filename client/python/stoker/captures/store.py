"""Captures in the daemon's store, through its socket alone: a capture is code, and is run.

libstoker puts each into an envelope with its SHA-256 and opens it again; a signature will stand beside the
digest when daemons sign.
"""

import ctypes
import json
from typing import Any, NamedTuple

from .. import library
from ..client import client

MAX_DETAIL = 8000


class Stored(NamedTuple):
    digest: str
    content: bytes
    among: Any = None  # The _Captures it came with,
    index: int = 0  # and its place there.

    def record(self):
        """Raises ValueError when it is no JSON."""
        return json.loads(self.content)


class Found(NamedTuple):
    captures: list  # Most recent first.
    damaged: int  # Envelopes that did not hold what was put into them.
    miss_reason: str


class _Captures:
    """libstoker's handle, freed with the last of what came with it."""

    def __init__(self, handle):
        self.handle = handle
        self._free = library.load().stoker_captures_free

    def __del__(self):
        self._free(self.handle)


def find(key):
    calls = library.load()
    among = _Captures(library.make_handle(
        calls.stoker_client_find_captures, client().handle, key.digest.encode(), _fields(key)))
    captures = []
    for index in range(calls.stoker_captures_count(among.handle)):
        size = ctypes.c_size_t()
        data = calls.stoker_captures_data(among.handle, index, ctypes.byref(size))
        captures.append(Stored(
            calls.stoker_captures_digest(among.handle, index).decode(),
            ctypes.string_at(data, size.value), among, index))
    return Found(
        captures, calls.stoker_captures_damaged(among.handle),
        calls.stoker_captures_miss_reason(among.handle).decode(errors="replace"))


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
    """Takes a capture that was refused out of the store."""
    library.check(library.load().stoker_client_drop_capture(
        client().handle, key.digest.encode(), stored.digest.encode()))


def note(entry, outcome, reason="", detail=""):
    """How a start went, for the daemon's statistics and `stoker explain`."""
    library.check(library.load().stoker_client_note_capture(
        client().handle, _text(entry), outcome.encode(), _text(reason, 120),
        _text(detail, MAX_DETAIL)))


def _fields(key):
    return json.dumps(key.fields).encode()


def _text(text, limit=1000):
    return text.replace("\0", "").encode(errors="replace")[:limit]
