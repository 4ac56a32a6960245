"""From Dynamo's graph to functional ATen graphs, through AOTAutograd.

No decompositions are asked for: the mapping knows composite operators itself, and core ATen
decompositions alone take more than a second of a first call.

Sizes may be symbolic (dynamic shapes): see lowering/symbols.py and runtime/sizes.py.
"""

import time

from .lowering.joint.less import with_less_to_keep
from .pytorch import aot
from .pytorch.frames import without_dynamo
from .runtime import overlaps
from .runtime.programs import forward_of


def trace(gm, example_inputs, compile_graph, compile_backward, around):
    """A callable for Dynamo's `gm`. compile_graph(graph module, parameter positions, seconds of tracing, whether it is for
    training, the graph module of its gradients where this PyTorch shows it) is called for each functional graph but a backward one,
    and compile_backward(graph module, seconds) for that; they give boxed callables. around(callable of AOTAutograd's) gives what
    is called in its place."""
    started = time.perf_counter()
    parted = []  # The backward graph.

    def compile_inference(inner, _):
        aot.require_writable(inner)
        aot.note_updates(inner, False)
        return compile_graph(inner, aot.static_inputs(), time.perf_counter() - started, False, None)

    def compile_forward(inner, _):
        aot.require_writable(inner)
        aot.note_updates(inner, True)
        backward = parted[-1] if parted else None
        return compile_graph(inner, aot.static_inputs(), time.perf_counter() - started, True, backward)

    def compile_later(inner, _):  # At the first backward pass, which compiled code may ask for.
        compiled = compile_backward(inner, time.perf_counter() - started)
        return without_dynamo(compiled, "Stoker's compiled backward")

    function = aot.functional(
        gm, example_inputs, forward=compile_forward, inference=compile_inference, change_joint=with_less_to_keep,
        parted=parted.append, backward=without_dynamo(compile_later, "Stoker's compiler of backward passes"))
    function = around(function)
    held = aot.held()
    changed = aot.inputs_that_change(len(held) + len(example_inputs))
    if changed:
        function = overlaps.where_apart(function, forward_of(gm), held, example_inputs, changed)
    return without_dynamo(function, "Stoker's compiled graph")
