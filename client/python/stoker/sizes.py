"""Graphs with symbolic sizes: compiled once for each set of sizes that calls bring, traced only once.

No guard is added for the sizes met: Dynamo's graph stays valid for all of them, so that neither its
recompile limit nor mark_dynamic's promise is broken.
"""

import threading
import time

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from .runtime import boxed

# Of one graph; the oldest give way, and are compiled again, out of the cache, when they are needed.
MAX_VERSIONS = 64

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_symbolic(gm):
    """Does any input of the graph have a symbolic size, or is one?"""
    return any(map(_has_symbols, _inputs_of(gm)))


def by_sizes(gm, compile_graph):
    """A boxed function; it asks compile_graph(graph of numbers, seconds that making it took) for another
    one whenever sizes are new."""
    symbolic = [place for place, value in enumerate(_inputs_of(gm)) if _has_symbols(value)]
    versions = {}
    lock = threading.Lock()

    def compile_for(sizes, arguments):
        with lock:
            if sizes in versions:
                return versions[sizes]
            started = time.perf_counter()
            version = _with_numbers(gm, arguments)
            function = compile_graph(version, time.perf_counter() - started)
            if len(versions) == MAX_VERSIONS:
                del versions[next(iter(versions))]
            versions[sizes] = function
            return function

    @boxed
    def run(arguments):
        sizes = tuple([_sizes_of(arguments[place]) for place in symbolic])
        function = versions.get(sizes) or compile_for(sizes, arguments)
        return function(arguments)

    return run


def _inputs_of(gm):
    return [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]


def _has_symbols(value):
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in (*value.shape, *value.stride()))
    return isinstance(value, _SYMBOLIC)


def _sizes_of(argument):
    """What an argument adds to the name of a version."""
    return (argument.shape, argument.stride()) if isinstance(argument, torch.Tensor) else argument


class _Propagation(torch.fx.Interpreter):
    """Notes the value of every node."""

    def run_node(self, node):
        node.meta["val"] = value = super().run_node(node)
        return value


def _with_numbers(gm, arguments):
    """A copy of the graph whose values have the sizes that follow from the arguments."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    copied = torch.fx.GraphModule(gm, graph)
    with torch.no_grad(), _disable_current_modes():
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        inputs = [mode.from_tensor(x, static_shapes=True) if isinstance(x, torch.Tensor) else x
                  for x in arguments]
        with mode:
            _Propagation(copied).run(*inputs)
    return copied
