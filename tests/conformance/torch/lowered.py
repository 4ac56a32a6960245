"""Runs lowered programs with the evaluator in place of compiled code."""

import re

import torch
from torch._functorch.aot_autograd import aot_module_simplified

from graph_evaluator import evaluate
from stoker.graph.layout import WORDS
from stoker.graph.program import Segment, check_indices
from stoker.libstoker import library
from stoker.lowering.lower import lower
from stoker.runtime import programs


class EvaluatedSegment:
    """Stands for an Executable."""

    steps = 1

    def __init__(self, segment, round_to_dtype=False):
        self.segment = segment
        self.round_to_dtype = round_to_dtype

    def at(self, segment, symbols, _lets_go):
        names = {f"s{number}": value for number, value in zip(segment.symbols, symbols)}
        return EvaluatedSegment(segment._replace(text=with_numbers(segment.text, names)), self.round_to_dtype)

    def __call__(self, slots):
        inputs = []
        for source in self.segment.inputs:
            tensor = slots[source.slot]
            tensor = tensor.permute(source.layout.order).contiguous()
            inputs.append(tensor.view(torch.int64) if tensor.dtype in WORDS else tensor)
        results = evaluate(self.segment.text, inputs, self.round_to_dtype)
        limits = [int(result) for result in results[len(self.segment.outputs):]]
        check_indices(self.segment.checks, limits)
        outputs = []
        for output, result in zip(self.segment.outputs, results):
            layout = output.layout
            result = result.view(output.dtype) if output.dtype in WORDS else result
            assert result.dtype == output.dtype
            if layout.order is None:
                tensor = torch.empty_strided(layout.shape, layout.strides, dtype=output.dtype)
                outputs.append(result if layout.overlaps else tensor.copy_(result))
            else:
                buffer = torch.empty_strided(layout.shape, layout.strides, dtype=output.dtype)
                buffer.permute(layout.order).copy_(result)
                outputs.append(buffer)
        return outputs


def with_numbers(text, symbols):
    """A graph's text for these values of its symbols."""
    names = {"floordiv": lambda a, b: a // b, "max": max, "min": min, **symbols}

    def number(match):
        return str(eval(match[0], {"__builtins__": {}}, names)).replace(" ", "")

    return re.sub(r"\[[^\[\]]*\bs\d[^\[\]]*\]", number, text)


def segments_of(program):
    return [step for step in program.steps if isinstance(step, Segment)]


def run_program(gm, program, arguments):
    """The program's results; every text also passes libstoker's parser and verifier. Tokens of effects, which
    AOTAutograd's runtime puts before inputs and takes from before results, are empty."""
    tokens = len(gm.graph.find_nodes(op="placeholder")) - len(arguments)
    for segment in segments_of(program):
        text = segment.text.encode()
        c_library = library.load()
        c_library.stoker_graph_free(
            library.make_handle(c_library.stoker_graph_parse, text, len(text)))
    segments = [EvaluatedSegment(segment) for segment in segments_of(program)]
    return programs.compiled(gm, program, segments)([None] * tokens + list(arguments))[tokens:]


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        results = self.function(*inputs)
        return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def graph_of(function, *arguments):
    """The functional ATen graph of a function of tensors, as a backend gets it."""
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    with torch.no_grad():
        aot_module_simplified(
            _Function(function), list(arguments), fw_compiler=keep, inference_compiler=keep)
    return graphs[0]


def lowered(function, *arguments, parameters=()):
    gm = graph_of(function, *arguments)
    return gm, lower(gm, parameters)
