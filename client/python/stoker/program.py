"""What a graph is lowered to: steps over numbered slots, the first of which are the graph's inputs."""

from typing import Any, NamedTuple


class SegmentInput(NamedTuple):
    slot: int
    layout: Any  # How the segment reads it; a tensor that lies otherwise is copied first.
    parameter: bool


class SegmentOutput(NamedTuple):
    slot: int
    dtype: Any  # torch.dtype
    layout: Any  # With order None the segment writes row-major, and a copy takes these strides.


class Segment(NamedTuple):
    """A graph for Stoker."""

    text: str
    inputs: list
    outputs: list


class EagerCall(NamedTuple):
    """An operator that PyTorch runs; its arguments may contain Slots."""

    target: Any
    arguments: tuple
    keywords: dict
    slot: int


class Copy(NamedTuple):
    """Slot `target` becomes a tensor of its own with the elements of slot `source`, taken with its dims in
    the order `source_order` and laid out in the order of `layout`."""

    source: int
    source_order: tuple
    target: int
    layout: Any


class Slot(NamedTuple):
    index: int


class Program(NamedTuple):
    slots: int
    constants: dict  # slot -> what the graph module holds.
    steps: list
    outputs: list  # Slots, or the values themselves where they are no tensors.
    fallbacks: dict  # Operator that PyTorch runs -> why.


def slots_in(argument):
    """The slots inside an argument of an EagerCall."""
    if isinstance(argument, Slot):
        yield argument.index
    elif isinstance(argument, (list, tuple)):
        for item in argument:
            yield from slots_in(item)
    elif isinstance(argument, dict):
        for item in argument.values():
            yield from slots_in(item)


def slots_read(step):
    if isinstance(step, Segment):
        return [source.slot for source in step.inputs]
    if isinstance(step, Copy):
        return [step.source]
    return [*slots_in(step.arguments), *slots_in(step.keywords)]
