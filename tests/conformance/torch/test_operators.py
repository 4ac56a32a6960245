"""Every mapped operator, evaluated in float64, against eager PyTorch.

Capturing a graph costs far more than lowering it, so that many of the cases that run share one graph.
"""

import functools

import pytest
import torch

from cases import CASES
from lowered import lowered, run_program
from stoker.graph.layout import layout_of

# What PyTorch itself may be off by, in the dtype of the result.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
CASES_PER_GRAPH = 32
pytestmark = pytest.mark.together


def _narrowed(x):
    return x.to(torch.bfloat16) if x.dtype == torch.float32 else x


def _variants():
    for case in CASES:
        yield case.name, case, case.inputs
        if case.narrow and any(x.dtype == torch.float32 for x in case.inputs):
            yield f"{case.name}-bf16", case, tuple(map(_narrowed, case.inputs))


VARIANTS = list(_variants())


def _listed(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


@functools.cache
def _chosen(session):
    """Places of the cases that run."""
    return sorted(item.callspec.params["place"] for item in session.items if item.function is test_operator)


@functools.cache
def _results(places):
    """For each case of a group: [(PyTorch's result, strides promised, our result)]."""
    group = [VARIANTS[place] for place in places]
    spans, inputs = [], []
    for _, _, own in group:
        spans.append(range(len(inputs), len(inputs) + len(own)))
        inputs += own

    def every(*tensors):
        return [
            result for (_, case, _), span in zip(group, spans)
            for result in _listed(case.function(*[tensors[index] for index in span]))]

    gm, program = lowered(every, *inputs)
    assert not program.fallbacks
    # Segments around an assertion of PyTorch, and copies of what is not computed.
    assert len(program.steps) <= 3 + CASES_PER_GRAPH
    promised = [
        None if layout.overlaps else layout.strides
        for layout in (layout_of(node.meta["val"]) for node in gm.graph.output_node().args[0])]
    computed = iter(zip(promised, run_program(gm, program, inputs)))
    with torch.no_grad():
        expected = [_listed(case.expected(*own)) for _, case, own in group]
    return [[(one, *next(computed)) for one in wanted] for wanted in expected]


@pytest.mark.parametrize("place", range(len(VARIANTS)), ids=[name for name, _, _ in VARIANTS])
def test_operator(request, place):
    case = VARIANTS[place][1]
    chosen = _chosen(request.session)
    at = chosen.index(place)
    first = at - at % CASES_PER_GRAPH
    for expected, strides, result in _results(tuple(chosen[first:first + CASES_PER_GRAPH]))[at - first]:
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert strides in (None, result.stride()) or result.stride() == expected.stride()  # Not all traces say how results lie.
        tolerance = case.tolerance or TOLERANCE.get(expected.dtype, 0)
        torch.testing.assert_close(
            result, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_table_names_are_unique():
    names = [name for name, _, _ in VARIANTS]
    assert len(names) == len(set(names)), {name for name in names if names.count(name) > 1}
