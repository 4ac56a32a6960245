"""Graphs with symbolic sizes: one capture for all sizes that its guards allow.

The capture holds the graph itself. What was compiled for one set of sizes is stored beside it, under a key
made of the graph and the sizes, by whoever compiled it. Sizes that nobody met yet are compiled from the
graph: nothing is traced for them.
"""

import json

from .. import sizes
from ..client import client
from ..library import StokerError
from ..log import logger
from ..pytorch import installation
from . import store
from .graphs import decode_eager, encode_program, module_of
from .identity import digest_of
from .key import FORMAT, key_of_fields
from .loading import load_program
from .values import NotPortable


def run_of(words):
    """A function of the list of inputs. `words`: the graph's record."""

    def make(found, arguments):
        return _load_version(words, found) or _compile_version(words, found, arguments)

    return sizes.by_sizes(list(map(int, words["symbolic"])), make)


def store_version(words, found, program, request_keys):
    """What was compiled for the sizes `found`. Never raises."""
    key = _key(words, found)
    try:
        record = {"key": [list(field) for field in key.fields],
                  "program": encode_program(program, request_keys)}
        store.put(key, f"{key.entry}, {_text(found)}", record)
    except (NotPortable, StokerError) as error:
        logger.info("captures: sizes %s are compiled again next time: %s", _text(found), error)


def _load_version(words, found):
    """None where nothing is stored for the sizes, or its artifacts are gone."""
    key = _key(words, found)
    try:
        for stored in store.find(key).captures:
            try:
                record = stored.record()
                if record["key"] != [list(field) for field in key.fields]:
                    raise ValueError("It was stored under another key.")
                return load_program(record["program"])
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                logger.info("captures: what is stored for sizes %s is refused: %r", _text(found), error)
                store.drop(key, stored)
    except StokerError as error:
        logger.info("captures: sizes %s are compiled again: %s", _text(found), error)
    return None


def _compile_version(words, found, arguments):
    from .. import backend  # It imports PyTorch's compiler: only for sizes that are new.

    module = module_of(decode_eager(words["eager"]), int(words["runtime"]["inputs"]))
    return backend.compile_for_sizes(
        module, arguments, tuple(words["parameters"]), backend.Options(*words["options"]), words, found)


def _key(words, found):
    graph = digest_of(json.dumps([words[name] for name in (
        "eager", "symbolic", "parameters", "options")]))
    return key_of_fields((
        ("entry", f"graph {graph}"),
        ("sizes", _text(found)),
        ("target", client().target),
        ("torch", installation.version()),
        ("torch.code", installation.digest()),
        ("frontend", f"format {FORMAT}")))


def _text(found):
    return repr(found)
