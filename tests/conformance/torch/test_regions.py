"""Operators that run graphs of their own: what becomes of these, and which stay with PyTorch and why."""

import re

import pytest
import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from lowered import segments_of
from stoker import backend
from stoker.base import tally
from stoker.libstoker import library
from stoker.lowering.lower import lower

X = torch.rand(3, 4)  # Which the branches below take as indices, too.
COUNT = torch.tensor(3)
TABLE = torch.randn(5, 3, 4)


def counted(body):
    def function(count, x):
        return while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, body(i, x)), (count, x))

    return function


def lowered(function, *arguments):
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def backend(gm, inputs):
        return aot_module_simplified(gm, inputs, fw_compiler=keep, inference_compiler=keep)

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=backend)(*arguments)
    program = lower(graphs[0], ())
    for segment in segments_of(program):
        text = segment.text.encode()
        c_library = library.load()
        c_library.stoker_graph_free(library.make_handle(c_library.stoker_graph_parse, text, len(text)))
    return program


def test_a_loop_is_a_node_of_the_one_segment():
    program = lowered(lambda count, x: counted(lambda i, x: torch.tanh(x))(count, x + 1)[1] * 2, COUNT, X)
    assert not program.fallbacks and not program.constants
    segment, = program.steps
    assert re.search(r"= while\(%\d+, %\d+\) \{condition=graph @region\(", segment.text)


def test_a_loop_in_a_loop_is_a_region_in_a_region():
    inner = counted(lambda i, x: x.sin())
    program = lowered(counted(lambda i, x: inner(i, x)[1].cos()), COUNT, X)
    segment, = program.steps
    assert not program.fallbacks and segment.text.count("while(") == 2


def test_a_scan_reads_rows_and_stacks_results():
    program = lowered(lambda h, xs, w: scan(lambda h, x: (h + x * w, h * 2), h, xs), X, TABLE, X + 1)
    segment, = program.steps
    assert not program.fallbacks and "carried=1, scanned=1} : f32[3,4], f32[5,3,4]" in segment.text


def test_a_graph_looks_at_what_it_is_given_as_that_lies():
    program = lowered(lambda count, x, w: counted(lambda i, x: x + w.t().view(-1))(count, x), COUNT, torch.ones(12), X.t())
    assert not program.fallbacks


def test_results_beside_a_loop_may_lie_otherwise_than_traced():
    program = lowered(lambda count, x: (torch.xlogy(x.t(), x.t()), counted(lambda i, x: x.sin())(count, x)), COUNT, X)
    assert not program.fallbacks


REFUSED = {
    "in its graph: aten.linalg_matrix_exp.default, which has no mapping": lambda i, x: torch.linalg.matrix_exp(
        x[:, :3]) @ x,
    "in its graph: aten.rand_like.default, which has no mapping": lambda i, x: torch.rand_like(x),
    "in its graph: a constant of 8000 bytes": lambda i, x: x + torch.tensor([1.0] * 2000).sum(),
    "in its graph: a size, or a number, that only a run knows": lambda i, x: x * i.item(),
}


@pytest.mark.parametrize("reason", REFUSED)
@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_what_a_body_calls_keeps_the_loop_with_pytorch(reason):
    program = lowered(counted(REFUSED[reason]), COUNT, X)
    (name, found), = program.fallbacks.items()
    assert (name, found) == ("while_loop", reason)
    assert any("WhileLoopOp" in str(step) for step in program.steps)


def test_constants_of_a_body_are_written_out():
    program = lowered(counted(lambda i, x: x.index_select(1, torch.tensor([1, 0, 3, 2])) + torch.tensor([[0.5]])), COUNT, X)
    segment, = program.steps
    assert not program.fallbacks and segment.text.count("bytes(") == 2 and not segment.checks


@pytest.mark.parametrize("function, arguments", [
    (counted(lambda i, x: x + TABLE.index_select(0, i.reshape(1))[0]), (COUNT, X)),
    (counted(lambda i, x: counted(lambda i, x: x + TABLE[i.reshape(1)][0])(i, x)[1]), (COUNT, X)),
    (lambda h, xs: scan(lambda h, x: (h[x.long()[0]] + 1, h * 2), h, xs), (X[0], TABLE)),
], ids=("while", "nested", "scan"))
def test_indices_of_all_trips_are_looked_at_after_the_last(function, arguments):
    program = lowered(function, *arguments)
    segment, = program.steps
    assert not program.fallbacks and len(segment.checks) == 1 and segment.limits == 2


def test_a_branch_is_a_loop_of_one_trip_at_most():
    program = lowered(lambda x: torch.cond(
        x.sum() > 0, lambda x: TABLE.index_select(0, x[0].long())[0] + x, lambda x: x * 2, (x,)) + 1, X)
    segment, = program.steps
    assert not program.fallbacks and segment.text.count("= while(") == 2 and len(segment.checks) == 1


def test_a_loop_over_nothing_that_makes_no_trip_raises_nothing():
    look_up = counted(lambda i, x: x + TABLE[:0, 0].gather(0, i.expand(1, 4)))
    assert "(an index into nothing)" in lowered(look_up, COUNT * 0, X).fallbacks["while_loop"]


def test_a_loop_may_be_given_a_tensor_twice():
    torch._dynamo.reset()
    before = tally.counters().get("graphs_eager", 0)
    for function, arguments in (
            (lambda count, x: counted(lambda i, y: y + x)(count, x), (COUNT, X)),
            (lambda h, xs: scan(lambda c, x: (c + x + h, c * 2), h, xs), (X, TABLE))):
        expected = function(*arguments)
        torch.testing.assert_close(torch.compile(function, backend=backend.stoker)(*arguments), expected)
    assert tally.counters().get("graphs_eager", 0) == before


def nested(depth):
    return counted(lambda i, x: nested(depth - 1)(i, x)[1] if depth > 1 else x.sin())


def test_loops_nest_as_deep_as_graphs_may():
    deepest = lowered(nested(8), COUNT, X)
    assert not deepest.fallbacks and deepest.steps[0].text.count("while(") == 8
    (name, reason), = lowered(nested(9), COUNT, X).fallbacks.items()
    assert name == "while_loop" and "(graphs that nest deeper than 8)" in reason, reason
