"""What the backend tells about the graphs of a frame that is being recorded.

A frame is recorded on one thread, and Dynamo holds a lock meanwhile; frames nest when tracing calls code
that is compiled too.
"""

import threading
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..pytorch import aot
from .graphs import encode_eager, encode_program
from .values import NotPortable

_recorded = threading.local()

ATTRIBUTE = "_stoker_graph"  # Of a compiled function: its GraphRecord.


class GraphRecord(NamedTuple):
    words: Any  # JSON, or None where the graph is not portable,
    reason: str  # and why.


class _Graph:
    """One graph on its way through AOTAutograd."""

    def __init__(self, input_count):
        self.input_count = input_count
        self.records = []

    def mark(self, function):
        """The function that Dynamo gets for the graph, with its record."""
        if len(self.records) == 1:
            record = self.records[0]
        else:
            record = GraphRecord(None, "a graph that runs in eager")
        setattr(_innermost(function), ATTRIBUTE, record)
        return function


@contextmanager
def frame():
    """Graphs compiled inside belong to a frame that is being recorded."""
    outer = getattr(_recorded, "graphs", None)
    _recorded.graphs = []
    try:
        yield
    finally:
        _recorded.graphs = outer


@contextmanager
def graph(example_inputs):
    """The graph that is compiled inside."""
    opened = _Graph(len(example_inputs))
    graphs = getattr(_recorded, "graphs", None)
    if graphs is not None:
        graphs.append(opened)
    try:
        yield opened
    finally:
        if graphs is not None:
            graphs.remove(opened)


def note_program(gm, program, request_keys, is_training):
    """Called with each graph that was compiled, while AOTAutograd's metadata is at hand."""
    _note(gm, is_training, lambda: {"program": encode_program(program, request_keys)})


def note_sized(gm, symbolic, parameters, options, is_training):
    """The same for a graph with symbolic sizes, of which nothing is compiled yet. Its record, or None."""
    return _note(gm, is_training, lambda: {
        "symbolic": list(symbolic), "parameters": list(parameters), "options": list(options)})


def _note(gm, is_training, words_of_kind):
    graphs = getattr(_recorded, "graphs", None)
    if not graphs:
        return None
    opened = graphs[-1]
    try:
        if is_training:
            raise NotPortable("a graph for training")
        placeholders = len(gm.graph.find_nodes(op="placeholder"))
        if placeholders != opened.input_count:
            raise NotPortable("a graph whose inputs are not the frame's")
        words = {
            **words_of_kind(),
            "eager": encode_eager(gm),
            "runtime": aot.runtime_words(aot.metadata(), placeholders)}
        opened.records.append(GraphRecord(words, ""))
        return words
    except NotPortable as error:
        opened.records.append(GraphRecord(None, str(error)))
        return None


def record_of(function):
    """The record of a compiled function, below what Dynamo wrapped it in."""
    return getattr(_innermost(function), ATTRIBUTE, None) or GraphRecord(
        None, "a graph of another kind")


def _innermost(function):
    while hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    return function
