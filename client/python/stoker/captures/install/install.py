"""From a capture's JSON to something that runs: bytecode, the globals it expects, and its guard."""

import builtins
import importlib
import itertools
import types
from typing import Any, NamedTuple

from ...base import tally
from ...base.log import warn_once
from ...libstoker.library import StokerError
from ...pytorch.bytecode import WithoutDynamo, maker_of
from ...pytorch.marks import COMPILER
from ..check.program import Failure, GuardProgram
from ..optimizers.holding import MOST, HoldingGraph, Installation, has_room
from ..store.notes import note
from ..words.code import decode_code
from ..words.values import decode
from . import sized
from .graphs import make_callable
from .loading import load_program


_installations = itertools.count(1)


class Installed(NamedTuple):
    code: types.CodeType
    check: Any  # f(locals) -> bool
    guards: int
    graphs: int
    optimizers: tuple = ()  # Those without which it is of no use,
    installation: Any = None  # and what is installed for them.


def install(record, local_values, global_values, file_name, wrap, describe, replays):
    """An Installed, or the Failure that says why not. `wrap`: what the graphs' callables are passed through
    before bytecode calls them; None where Dynamo is not there to run resume functions; `describe`: that of the key,
    a Describer without names. A record that is damaged raises ValueError, KeyError, TypeError and the like."""
    program = GuardProgram(record, global_values, describe)
    failure = program.first_failure(local_values)
    if failure is not None:
        return failure
    if wrap is None and any(_needs_dynamo(each) for each in record["globals"]):
        return Failure("needs Dynamo", "the bytecode", "free of graph breaks", "not")
    device = program.device(local_values)
    if device is None:
        return Failure("device", "where inputs lie", "one GPU", "several")
    optimizers = () if program.live is None else tuple(program.live.optimizers)
    if not has_room(optimizers):
        return Failure("optimizer", "installations for one optimizer", f"at most {MOST}", "more")
    # What holds tensors of one program's optimizers is never among the globals for another one's, nor for these once more.
    own = _names_of_its_own(record["globals"]) if optimizers else {}
    code = decode_code(record["code"], file_name, global_values, own)
    functions = []
    for words in record["graphs"]:
        try:
            function = _load(words, record["key"][0][1], device, replays, wrap)
            if "held" in words:
                function = HoldingGraph(function, [program.live.described.tensors[number] for number in words["held"]])
        except StokerError as error:
            return Failure("artifact", "an artifact", "in the store", str(error))
        functions.append(function if wrap is None else wrap(function))
    made = {
        own.get(name, name): _global(kind, body, functions, global_values, file_name)
        if wrap is not None or kind != "dynamo" else WithoutDynamo
        for name, kind, body in record["globals"]}
    for name, value in made.items():
        # Where both ways meet in one process, what works under Dynamo works without it too.
        if wrap is not None or name not in global_values:
            global_values[name] = value
    installation = optimizers and Installation(
        optimizers, program.live.staying(), global_values, tuple(own.values()))
    program.take_over()
    return Installed(code, program.bind(), len(record["guards"]), len(functions), optimizers, installation or None)


def _names_of_its_own(words):
    number = next(_installations)
    return {name: f"{name}_of_{number}" for name, kind, _ in words if kind == "graph"}


def _needs_dynamo(words):
    _, kind, body = words
    if kind == "dynamo":
        return not all(name and hasattr(WithoutDynamo, name) for name in body)
    return kind in ("function", "maker") or kind == "module" and body.startswith(COMPILER)


def _load(words, entry, device, replays, wrap):
    """The callable of a graph, over the artifacts of its request keys."""

    def failed(error):
        warn_once(
            "captured graph failed", "a captured graph failed and runs in eager from now on: %s",
            error)
        tally.count("graphs_eager")
        note(entry, "failed", error.kind, str(error))

    if "program" in words:
        run = load_program(words["program"], device, replays)
    else:
        run = sized.run_of(words, device, replays)
    backward = words.get("backward")
    run_backward = None if backward is None else sized.backward_of(backward, device, replays)
    return make_callable(words, run, run_backward, device, failed, wrap)


def _global(kind, body, functions, global_values, file_name):
    if kind == "module":
        return importlib.import_module(body)
    if kind == "dynamo":
        return importlib.import_module(f"{COMPILER}.utils")
    if kind == "builtins":
        return vars(builtins)
    if kind == "graph":
        return functions[body]
    if kind == "function":
        code = decode_code(body, file_name, global_values)
        return types.FunctionType(code, global_values, code.co_name)
    if kind == "maker":
        return maker_of(decode_code(body, file_name, global_values), global_values)
    if kind == "value":
        return decode(body)
    raise ValueError(f"a global of kind {kind}")
