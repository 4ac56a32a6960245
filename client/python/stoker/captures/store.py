"""Captures in the daemon's store, through its socket alone: a capture is code, and is run.

libstoker puts each into an envelope with its SHA-256 and opens it again; a signature will stand beside the
digest when daemons sign.
"""

import ctypes
import json
from typing import NamedTuple

from .. import library
from ..client import client

MAX_DETAIL = 8000


class Stored(NamedTuple):
    digest: str
    content: bytes

    def record(self):
        """Raises ValueError when it is no JSON."""
        return json.loads(self.content)


class Found(NamedTuple):
    captures: list  # Most recent first.
    damaged: int  # Envelopes that did not hold what was put into them.
    miss_reason: str


def find(key):
    calls = library.load()
    handle = library.make_handle(
        calls.stoker_client_find_captures, client().handle, key.digest.encode(), _fields(key))
    try:
        captures = []
        for index in range(calls.stoker_captures_count(handle)):
            size = ctypes.c_size_t()
            data = calls.stoker_captures_data(handle, index, ctypes.byref(size))
            captures.append(Stored(
                calls.stoker_captures_digest(handle, index).decode(),
                ctypes.string_at(data, size.value)))
        return Found(
            captures, calls.stoker_captures_damaged(handle),
            calls.stoker_captures_miss_reason(handle).decode(errors="replace"))
    finally:
        calls.stoker_captures_free(handle)


def put(key, label, record):
    put_content(key, label, json.dumps(record, separators=(",", ":")).encode())


def put_content(key, label, data):
    library.check(library.load().stoker_client_put_capture(
        client().handle, key.digest.encode(), _fields(key), label.encode(), data, len(data)))


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
