"""Graphs with symbolic sizes: one capture for all sizes that its guards allow.

The capture holds the graph itself. What was compiled for one set of sizes is stored beside it, under a key
made of the graph and of all that a compiler knows of its inputs, by whoever compiled it: a graph is the same for
several captures, whose guards hold other dtypes and other sizes. Sizes that nobody met yet are compiled from the
graph: nothing is traced for them.
"""

import json

import torch

from ...base.log import logger
from ...libstoker.client import client
from ...libstoker.library import StokerError
from ...runtime import sizes
from ..store import store
from ..store.key import key_of_fields, makers
from ..words.digests import digest_of
from ..words.graphs import decode_eager, encode_program, module_of
from ..words.values import NotPortable
from .loading import load_program


def run_of(words):
    """A function of the list of inputs. `words`: the graph's record."""

    def make(arguments):
        inputs = inputs_of(arguments)
        return _load_version(words, inputs) or _compile_version(words, inputs, arguments)

    return sizes.by_sizes(list(map(int, words["symbolic"])), make)


def inputs_of(arguments):
    """What the program of a version depends on: text for each input, of everything but a tensor's values."""
    return [_input_text(argument) for argument in arguments]


def _input_text(argument):
    if isinstance(argument, torch.Tensor):
        return f"{argument.dtype} {argument.device.type} {tuple(argument.shape)} {argument.stride()}"
    return f"{type(argument).__name__} {argument.hex() if isinstance(argument, float) else argument}"


def store_version(words, inputs, program, compiled):
    """What was compiled (a compiling.Compiled) for such `inputs` (of inputs_of). Never raises."""
    key = _key(words, inputs)
    try:
        record = {"key": [list(field) for field in key.fields],
                  "program": encode_program(program, compiled.request_keys)}
        store.put(key, key.entry, record)
    except (NotPortable, StokerError) as error:
        logger.info("captures: inputs %s are compiled for again next time: %s", inputs, error)


def _load_version(words, inputs):
    """None where nothing is stored for them, or its artifacts are gone."""
    key = _key(words, inputs)
    try:
        for stored in store.find(key).captures:
            try:
                record = stored.record()
                if record["key"] != [list(field) for field in key.fields]:
                    raise ValueError("It was stored under another key.")
                program = load_program(record["program"])
                store.use(key, key.entry, stored)
                return program
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                logger.info("captures: what is stored for inputs %s is refused: %r", inputs, error)
                store.drop(key, stored)
    except StokerError as error:
        logger.info("captures: inputs %s are compiled for again: %s", inputs, error)
    return None


def _compile_version(words, inputs, arguments):
    from ...lowering import compiling  # With the rules of all operators: only for sizes that are new.

    module = module_of(decode_eager(words["eager"]), int(words["runtime"]["inputs"]))
    return compiling.compile_for_sizes(
        module, arguments, tuple(words["parameters"]), compiling.Options(*words["options"]),
        lambda program, made: store_version(words, inputs, program, made))


def _key(words, inputs):
    graph = digest_of(json.dumps([words[name] for name in (
        "eager", "symbolic", "parameters", "options")]))
    return key_of_fields((
        ("entry", f"graph {graph}"),
        ("inputs", ", ".join(inputs)),
        *makers(client().target, client().compiler_epoch())))
