"""From Dynamo's graph to functional ATen graphs, through AOTAutograd.

No decompositions are asked for: the mapping knows composite operators itself, and core ATen
decompositions alone take more than a second of a first call.

Sizes may be symbolic (dynamic shapes): sizes.py makes graphs of numbers from such a graph.
"""

import time

import torch
from torch._functorch.aot_autograd import aot_module_simplified


def trace(gm, example_inputs, compile_graph):
    """A callable for Dynamo's `gm`. compile_graph(graph module, parameter positions, seconds of tracing)
    is called for each functional graph and gives a boxed callable."""
    if any(isinstance(x, (list, tuple, dict)) for x in example_inputs):
        return torch._dynamo.utils.flatten_graph_inputs(
            gm, example_inputs, lambda flat, inputs: trace(flat, inputs, compile_graph))
    started = time.perf_counter()

    def compile_inference(inner, _):
        return compile_graph(inner, _static_inputs(), time.perf_counter() - started)

    def compile_training(inner, _):
        # Parameters change in every step: binding them would not pay.
        return compile_graph(inner, (), time.perf_counter() - started)

    def compile_backward(inner, inputs):
        return torch._dynamo.disable(
            compile_training(inner, inputs), reason="Stoker's compiled backward")

    function = aot_module_simplified(
        gm, example_inputs, fw_compiler=compile_training, bw_compiler=compile_backward,
        inference_compiler=compile_inference)
    return torch._dynamo.disable(function, reason="Stoker's compiled graph")


def _static_inputs():
    """Positions of parameters and buffers among the inputs of the graph being compiled."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return ()
    return tuple(context.fw_metadata.static_input_indices)
