"""What a graph is lowered to: steps over numbered slots, the first of which are the graph's inputs."""

from typing import Any, NamedTuple

from . import dims


class SymbolSource(NamedTuple):
    """Where the inputs of a call say what a symbol is."""

    place: int
    kind: str  # "value": the input itself; "size" or "stride" of its dim.
    dim: Any  # None for a value.

    def read(self, arguments):
        argument = arguments[self.place]
        if self.kind == "value":
            return argument
        return argument.shape[self.dim] if self.kind == "size" else argument.stride(self.dim)


class SegmentInput(NamedTuple):
    slot: int
    layout: Any  # How the segment reads it; a tensor that lies otherwise is copied first.
    parameter: bool


class SegmentOutput(NamedTuple):
    slot: int
    dtype: Any  # torch.dtype
    layout: Any  # With order None the segment writes row-major, and a copy takes these strides.
    updates: Any = None  # The place, among the segment's inputs, of the one whose memory it is made in; None: its own.


class IndexCheck(NamedTuple):
    """Indices that a segment reads or writes at: `low` <= index < `size`, `low` <= 0."""

    place: int  # Of their limits among those that the segment gives.
    low: int
    size: int
    message: str  # Of the exception; holds "{index}" where that is an index, and maybe "{size}".


class Segment(NamedTuple):
    """A graph for Stoker. After its outputs it gives limits of the indices to check, as i64: for each place the
    least index or 0, and the largest or 0. On a GPU it gives one bool in their place: whether all checks hold."""

    text: str
    inputs: list
    outputs: list
    checks: tuple = ()
    symbols: tuple = ()  # Those that the graph's s0, s1, ... are: numbers of the program's.
    makers: tuple = ()  # For each line of a node the name of the fx node for which it was made first; none of a capture's.

    @property
    def limits(self):
        """How many limits it gives."""
        return 2 * len({check.place for check in self.checks})

    @property
    def updates(self):
        """How many inputs it changes in place."""
        return sum(output.updates is not None for output in self.outputs)


class IndexOutOfBounds(IndexError, RuntimeError):
    """PyTorch raises the one or the other, by operator and by how its tensors lie."""


def check_indices(checks, limits):
    """IndexOutOfBounds, or RuntimeError of what is no index, for the first that fails; `limits` are what a segment
    gave."""
    for check in checks:
        least, largest = limits[2 * check.place], limits[2 * check.place + 1]
        if least < check.low or largest >= check.size:
            index = least if least < check.low else largest
            kind = IndexOutOfBounds if "{index}" in check.message else RuntimeError
            raise kind(check.message.format(index=index, size=check.size))


class EagerCall(NamedTuple):
    """An operator that PyTorch runs; its arguments may contain Slots."""

    target: Any
    arguments: tuple
    keywords: dict
    slot: int
    result: Any = None  # (torch.dtype, shape) that steps after it were made for; None: no tensor of known shape.


class Part:
    """What an EagerCall calls: a part of a graph, which is compiled for each set of the sizes that have to be numbers. Gives
    a list of tensors."""

    __name__ = "part"  # As every function of an fx graph has one.

    def __init__(self, words, function=None, draws=False, given=()):
        self.words = words  # Its record, for captures; None where it has none.
        self.function = function  # Boxed; of a capture's, set by whoever loads it.
        self.draws = draws  # May it draw random numbers?
        # Of each argument the name of the node that it is in the whole graph, or the SymbolSource of a size; none of a
        # capture's.
        self.given = given

    def __call__(self, *arguments):
        return self.function(list(arguments))


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
    """One with symbols has Dims in place of sizes: at() makes what runs."""

    slots: int
    constants: dict  # slot -> what the graph module holds.
    steps: list
    outputs: list  # Slots, or the values themselves where they are no tensors.
    fallbacks: dict  # Operator that PyTorch runs -> why.
    symbols: tuple = ()  # A SymbolSource for each.
    conditions: tuple = ()  # An assumptions.Condition each, for which it was made.
    device: str = "cpu"  # The kind of device that segments run on.
    unmapped: frozenset = frozenset()  # Names of the fx nodes that `fallbacks` are of; none of a capture's.

    @property
    def parts(self):
        """What is compiled beside its segments."""
        return [step.target for step in self.steps if isinstance(step, EagerCall) and isinstance(step.target, Part)]

    def fits(self, values):
        """Was it made for calls in which the symbols have these values?"""
        return all(condition.holds(values) for condition in self.conditions)

    def at(self, values):
        """The program for one value of each symbol."""
        if not self.symbols:
            return self
        return self._replace(
            steps=[_step_at(step, values) for step in self.steps], outputs=_step_at(self.outputs, values),
            symbols=(), conditions=())


def _step_at(step, values):
    """The step, or a part of it, with numbers in place of Dims."""
    if isinstance(step, dims.Dim):
        return step.at(values)
    if isinstance(step, dict):
        return {name: _step_at(item, values) for name, item in step.items()}
    if isinstance(step, (tuple, list)):
        items = [_step_at(item, values) for item in step]
        return step._make(items) if hasattr(step, "_make") else type(step)(items)
    return step


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


def filled(slots, argument):
    """The argument with tensors in place of Slots."""
    if isinstance(argument, Slot):
        return slots[argument.index]
    if isinstance(argument, (list, tuple)):
        return type(argument)(filled(slots, item) for item in argument)
    if isinstance(argument, dict):
        return {name: filled(slots, item) for name, item in argument.items()}
    return argument
