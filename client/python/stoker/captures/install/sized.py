"""Graphs with symbolic sizes: one capture for all sizes that its guards allow.

The capture holds the graph itself. What was compiled for all sizes, or for one set of them, is stored beside it, under
a key made of the graph and of all that a compiler knows of its inputs, by whoever compiled it: a graph is the same for
several captures, whose guards hold other dtypes and other sizes. Sizes for which nothing was compiled yet are compiled
for from the graph: nothing is traced for them.
"""

import json

import torch

from ...base.checked import all_of, as_many, count_of, place_of
from ...base.log import logger
from ...base.signals import let_through
from ...graph.program import SymbolSource
from ...libstoker.client import client
from ...libstoker.library import StokerError
from ...pytorch import aot
from ...runtime import sizes
from ...runtime.numerics import by_numerics
from ..store import store
from ..store.key import key_of_fields, makers
from ..words.digests import digest_of
from ..words.graphs import decode_eager, decode_program, encode_program, input_text, module_of
from ..words.values import NotPortable
from .loading import load_program


def run_of(words, device, replays, at_most=sizes.MAX_PROGRAMS):
    """A function of the list of inputs. `words`: the graph's record; ValueError where it is damaged."""
    count = count_of(words["runtime"]["inputs"])
    symbolic = all_of(place_of, words["symbolic"], count)
    if words.get("inputs") is not None and not all(type(text) is str for text in as_many(words["inputs"], count)):
        raise ValueError("inputs that are no texts")
    if type(words["varying"]) is not dict:
        raise ValueError(f"what varies is {words['varying']!r}")

    def run_part(words):
        return run_of(words, device, False, sizes.MAX_PROGRAMS_OF_PART)

    def load_for(program):
        return load_program(program, device, replays, run_part, lets_go=bool(words["runtime"].get("tangents")))

    def make(arguments):
        inputs = words.get("inputs") or inputs_of(arguments)
        return _load_version(words, inputs, load_for) or _compile_version(words, inputs, arguments, device, replays)

    versions = sizes.by_sizes(symbolic, make)
    sources = [SymbolSource(*source) for source in words["symbols"]]
    for source in sources:
        place_of(source.place, count)
    if not sources:
        return versions
    return sizes.for_all_sizes(
        sources, lambda values, arguments: _load_for_all(words, values, arguments, load_for), versions, at_most)


def backward_of(words, device, replays):
    """A function of what a backward pass is given. `words`: the record of the graph. What products may lose is asked when it
    runs: no guard was, since the forward pass."""
    numerics, verify = words["options"]

    def run_with(numerics):
        return run_of({**words, "options": [numerics, verify]}, device, replays)

    return by_numerics(device, numerics, run_with(numerics), run_with)


def varying_inputs_of(words, arguments):
    """As inputs_of, for a program of all sizes."""
    varying = words["varying"]
    return [
        varying.get(str(place)) or input_text(argument) for place, argument in enumerate(arguments)]


def inputs_of(arguments):
    """What the program of a version depends on: text for each input, of everything but a tensor's values."""
    return [input_text(argument) for argument in arguments]


def store_version(words, inputs, program, compiled):
    """What was compiled (a compiling.Compiled) for such `inputs` (of inputs_of). Never raises."""
    key = _key(words, inputs)
    try:
        record = {"key": [list(field) for field in key.fields],
                  "program": encode_program(program, compiled.request_keys, _tensors_of(program))}
        store.put(key, key.entry, record)
    except (NotPortable, StokerError) as error:
        logger.info("captures: inputs %s are compiled for again next time: %s", inputs, error)


def _tensors_of(program):
    """That the graph holds: which is stored, so it is known where their elements come from."""
    return [value for value in program.constants.values() if isinstance(value, torch.Tensor)]


def _load_version(words, inputs, load_for):
    """None where nothing is stored for them, or its artifacts are gone."""
    return next(_loaded(words, inputs, load_for), None)


def _load_for_all(words, values, arguments, load_for):
    """(fits, function) of what is stored for all sizes, and was made for these values of the symbols too, or None."""

    def load(body):
        program = decode_program(body)
        return (program.fits, load_for(body)) if program.fits(values) else None

    return next(_loaded(words, varying_inputs_of(words, arguments), load), None)


def _loaded(words, inputs, load):
    """What load(program's words) gives, but None, of all that is stored for such inputs."""
    key = _key(words, inputs)
    try:
        for stored in store.find(key).captures:
            try:
                record = stored.record()
                if record["key"] != [list(field) for field in key.fields]:
                    raise ValueError("It was stored under another key.")
                loaded = load(record["program"])
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                let_through(error)
                logger.info("captures: what is stored for inputs %s is refused: %r", inputs, error)
                store.drop(key, stored)
                continue
            if loaded is not None:
                store.use(key, key.entry, stored)
                yield loaded
    except StokerError as error:
        logger.info("captures: inputs %s are compiled for again: %s", inputs, error)


def _compile_version(words, inputs, arguments, device, replays):
    from ...lowering import compiling  # With the rules of all operators: only for sizes that are new.

    runtime = words["runtime"]
    module = module_of(
        decode_eager(words["eager"], device), int(runtime["inputs"]), tangents=int(runtime.get("tangents", 0)))
    aot.mark_updates(
        module, [(place, int(index)) for place, (index, copied) in enumerate(runtime["mutated"]) if copied])
    return compiling.compile_for_sizes(
        module, arguments, tuple(words["parameters"]), compiling.Options(*words["options"], replays=replays),
        lambda program, made: store_version(words, inputs, program, made))


def _key(words, inputs):
    graph = digest_of(json.dumps([words[name] for name in (
        "eager", "symbolic", "parameters", "options")]))
    return key_of_fields((
        ("entry", f"graph {graph}"),
        ("inputs", ", ".join(inputs)),
        *makers(client().target, client().compiler_epoch())))
