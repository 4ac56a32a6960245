"""Graphs with symbolic sizes: traced once, and compiled once for all sizes, or, where that does not work, once for each
set of sizes that calls bring.

No guard is added for the sizes met: Dynamo's graph stays valid for all of them, so that neither its
recompile limit nor mark_dynamic's promise is broken.
"""

import itertools

import torch

from ..pytorch.marks import boxed
from ..pytorch.sizes import SYMBOLIC, is_of_a_run
from .gate import Gate
from .heap import give_back_free_memory

# Of one graph, for one set of sizes each; the oldest give way, and are compiled again, out of the cache, when they are
# needed.
MAX_VERSIONS = 64
# The same where only a run knows the sizes, as how many elements a mask chooses: no call need be like one before, so other
# calls run in eager. As many as torch.compile() traces of one function.
MAX_VERSIONS_OF_A_RUN = 8
# Of one graph, for all sizes of which the same holds; for others there are versions.
MAX_PROGRAMS = 8
# The same of a part of a graph, which is compiled for each value of those sizes that have to be numbers: no more are found
# in a later process.
MAX_PROGRAMS_OF_PART = 32
# What is kept for each size comes to lie behind tensors of that size. Where these are gone, longer ones do not fit in.
KEPT_BETWEEN_TRIMS = 32
_kept = itertools.count(1)
# For which values of a graph's symbols is remembered what runs; the oldest give way, which costs microseconds.
MAX_VALUES = 4096


def symbolic_inputs(gm):
    """Positions of the inputs that have a symbolic size, or are one."""
    values = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    return [place for place, value in enumerate(values) if _has_symbols(value)]


def are_of_a_run(gm):
    """Is it given a size that only a run knows, as a backward graph is by its forward graph?"""
    values = [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]
    return any(is_of_a_run(value) for value in values if isinstance(value, SYMBOLIC))


def by_values(sources, make):
    """A function of the list of inputs; it asks make(values, arguments) for another one whenever the symbols, which the
    `sources` (SymbolSources) read, have new values."""
    made = {}
    gate = Gate()
    readers = [source.read for source in sources]

    def make_for(values, arguments):
        function = made.get(values)
        if function is None:
            function = make(values, arguments)
            _keep(made, values, function, MAX_VALUES)
        return function

    def run(arguments):
        values = tuple([read(arguments) for read in readers])
        function = made.get(values) or gate.run_alone_or_beside(lambda: make_for(values, arguments))
        return function(arguments)

    return run


def for_all_sizes(sources, make, otherwise, at_most=MAX_PROGRAMS):
    """A boxed function. make(values, arguments) gives (fits, function) or None: what fits(values) says other values of
    the symbols can be run by, too. `otherwise`: a function for calls for which it gives None."""
    programs = []

    def choose(values, arguments):
        for fits, function in programs:
            if fits(values):
                return function
        made = make(values, arguments) if len(programs) < at_most else None
        if made is None:
            return otherwise
        programs.append(made)
        return made[1]

    return boxed(by_values(sources, choose))


def by_sizes(symbolic, make, otherwise=None):
    """A boxed function; it asks make(arguments) for another one whenever the sizes at the positions `symbolic`
    are new. `otherwise`: what makes the one for all others than the first MAX_VERSIONS_OF_A_RUN."""
    versions = {}
    others = []
    gate = Gate()

    def make_for(sizes, arguments):
        function = versions.get(sizes)
        if function is None:
            if otherwise is not None and len(versions) >= MAX_VERSIONS_OF_A_RUN:
                others[:] = others or [otherwise()]
                return others[0]
            function = make(arguments)
            _keep(versions, sizes, function, MAX_VERSIONS)
        return function

    @boxed
    def run(arguments):
        sizes = tuple([_sizes_of(arguments[place]) for place in symbolic])
        function = versions.get(sizes) or gate.run_alone_or_beside(lambda: make_for(sizes, arguments))
        return function(arguments)

    return run


def _keep(made, key, function, at_most):
    """Another one may be kept meanwhile: by a signal handler, or by a thread for which it waits."""
    if next(_kept) % KEPT_BETWEEN_TRIMS == 0:
        give_back_free_memory()
    while len(made) >= at_most:
        made.pop(list(made)[0], None)
    made[key] = function


def _has_symbols(value):
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in (*value.shape, *value.stride()))
    return isinstance(value, SYMBOLIC)


def _sizes_of(argument):
    """What an argument adds to the name of a version."""
    if isinstance(argument, torch.Tensor):
        return tuple(argument.shape), argument.stride()
    return argument.hex() if isinstance(argument, float) else argument  # 0.0 is not -0.0.


class UnknownSizes(Exception):
    """An operator of the graph asks what only a run knows; the message names it."""


def with_numbers(gm, arguments):
    """A copy of the graph whose values have the sizes that follow from the arguments; where only a run knows a size, a
    symbol stands for it. UnknownSizes where an operator asks which number it is."""
    from ..pytorch.operators import errors_of_unknown_sizes

    copied = _propagation(gm)
    try:
        _propagate(copied, arguments, has_unknown_sizes=False)
    except errors_of_unknown_sizes():
        try:
            _propagate(copied, arguments, has_unknown_sizes=True)
        except errors_of_unknown_sizes() as error:
            raise UnknownSizes(f"{copied.at.target} depends on a size that only a run knows") from error
    return copied.module


def _propagate(propagation, arguments, has_unknown_sizes):
    # Not at the top: a process that only runs what is compiled does not wait for them.
    from ..pytorch.operators import fake_mode, look_at_real_tensors, runs_graphs

    with torch.no_grad(), look_at_real_tensors():
        mode = fake_mode(runs_graphs(propagation.module), has_unknown_sizes)
        with mode:
            propagation.run(*[_traced(mode, x) if isinstance(x, torch.Tensor) else x for x in arguments])


def _traced(mode, tensor):
    """An input. Of one of no dims the mode would know the element, and what follows from it would be in the graph for all
    later calls."""
    if tensor.dim() == 0:
        return torch.empty((), dtype=tensor.dtype, device=tensor.device)
    return mode.from_tensor(tensor, static_shapes=True)


def _propagation(gm):
    """An interpreter of a copy of the graph."""

    class Propagation(torch.fx.Interpreter):
        """Notes the value of every node."""

        at = None  # The node that runs.

        def run_node(self, node):
            self.at = node
            node.meta["val"] = value = super().run_node(node)
            return value

    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    return Propagation(torch.fx.GraphModule(gm, graph))
