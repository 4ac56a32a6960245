"""Graphs whose requests are written down, and nothing else: nothing is asked of a daemon, compiled or run.

What a graph would give is made up: memory of the right shape that nobody has written. So whoever calls what was
compiled gets on to the next graph, as far as values do not decide the way.
"""

import contextlib

import torch

from ...aten_ops import Unsupported
from ...graph.devices import device_of
from ...graph.program import Segment, SymbolSource
from ...libstoker.client import client
from ...pytorch import devices
from ...pytorch.marks import boxed
from .refused import Refused, told_of

_recording = None


class Recording:
    """What came up while requests were only recorded."""

    def __init__(self):
        self.requests = set()  # (text, numerics)
        self.eager = []  # Why graphs, or operators in them, would run in eager PyTorch.


@contextlib.contextmanager
def recording():
    """Inside, in all threads, graphs are only recorded, into the manifest that STOKER_RECORD names. Gives a Recording.
    What cannot be written is a StokerError out of the call that is being compiled."""
    global _recording
    _recording = Recording()
    try:
        yield _recording
    finally:
        _recording = None


def is_on():
    return _recording is not None


def record(gm, lowered, numerics):
    """A boxed function in place of the graph, whose requests, of the Program that `lowered`, a Lowered, gives, have been
    written down."""
    while True:
        try:
            _record(gm, lowered(), numerics)
        except Refused as refused:
            if lowered.without(refused):
                continue
            _recording.eager.append(f"a graph ({refused})")
        except Unsupported as unsupported:
            _recording.eager.append(f"a graph ({unsupported})")
        return made_up(gm)


def _record(gm, program, numerics):
    for step in program.steps:
        if isinstance(step, Segment):
            with told_of(step):
                client().record(step.text, numerics, devices.name_of(device_of(gm)))
            _recording.requests.add((step.text, numerics))
    _recording.eager += [f"{operator} ({reason})" for operator, reason in program.fallbacks.items()]


def made_up(gm):
    """A boxed function that gives what the graph would, but for its values."""
    output, = gm.graph.find_nodes(op="output")
    values = [value.meta.get("val") if isinstance(value, torch.fx.Node) else value for value in output.args[0]]

    @boxed
    def run(arguments):
        arguments.clear()
        return [_like(value) if isinstance(value, torch.Tensor) else value for value in values]

    return run


def run_part(part, numbered, arguments):
    """Records what a Part of a graph would be compiled to in a call with these arguments. `numbered`: the graph for
    these."""
    values = {node.name: node.meta.get("val") for node in numbered.graph.nodes}
    given = [source.read(arguments) if isinstance(source, SymbolSource) else values[source] for source in part.given]
    part(*(_like(value) if isinstance(value, torch.Tensor) else value for value in given))


def _like(value):
    # A size that values decide is nobody's to know.
    shape = [size if isinstance(size, int) else 1 for size in value.shape]
    strides = [stride if isinstance(stride, int) else 1 for stride in value.stride()]
    return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)
