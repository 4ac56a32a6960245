"""Segments, eager operators between them, layouts, aliasing, sizes: what lowering does beyond operators."""

import functools
import operator
import re

import pytest
import torch

from lowered import graph_of, lowered, run_program, segments_of
from stoker.aten_ops import RULES
from stoker.graph.host_call import HostCall, NoHostCall, View
from stoker.graph.program import Copy, EagerCall, Slot
from stoker.lowering.draws import is_random, may_draw
from stoker.lowering.lower import lower


def steps_of(program):
    return [type(step).__name__ for step in program.steps]


def check(function, *inputs, parameters=()):
    """Lowers, runs, compares with PyTorch; returns the program."""
    gm, program = lowered(function, *inputs, parameters=parameters)
    expected = function(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    results = run_program(gm, program, inputs)
    assert len(results) == len(expected)
    for result, one in zip(results, expected):
        torch.testing.assert_close(result, one, equal_nan=True)
    return program


X = torch.arange(12.0).reshape(3, 4)


# ---- Segments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [TypeError, KeyError, AttributeError, ZeroDivisionError])
def test_a_rule_that_fails_costs_its_operator(monkeypatch, error):
    def fails(*_):
        raise error("a form it was not written for")

    monkeypatch.setitem(RULES, "aten.sin.default", fails)
    program = check(lambda x: (x + 1).sin().relu(), X)
    assert program.fallbacks.keys() == {"aten.sin.default"} and steps_of(program) == ["Segment"]


def test_supported_graph_is_one_segment():
    program = check(lambda x: (x + 1).relu().softmax(-1), X)
    assert steps_of(program) == ["Segment"] and not program.fallbacks


def calls_of(program):
    """What segments call of PyTorch."""
    return [HostCall.parse(re.search(r'target="(.*)"}', line)[1].replace('\\"', '"'))
            for segment in segments_of(program) for line in segment.text.splitlines() if "extern_call(" in line]


def test_operator_without_mapping_is_called_inside_the_one_segment():
    program = check(lambda x: torch.linalg.inv(x[:, :3] + torch.eye(3)) * 2, X)
    assert steps_of(program).count("Segment") == 1
    assert [call.operator for call in calls_of(program)] == ["aten.linalg_inv_ex.default"]
    assert list(program.fallbacks) == ["aten.linalg_inv_ex.default"]


def test_operators_before_and_after_all_kernels_stay_outside():
    def function(x):
        ahead = torch.linalg.matrix_exp(torch.linalg.matrix_exp(x))
        behind = torch.linalg.matrix_exp(ahead / 20 + 1)
        return torch.linalg.matrix_exp(behind), ahead

    program = check(function, torch.eye(3) / 20)
    assert steps_of(program).count("Segment") == 1 and not calls_of(program)
    assert list(program.fallbacks) == ["aten.linalg_matrix_exp.default"]


@pytest.mark.parametrize("function", [
    lambda x: torch.kthvalue(torch.linalg.matrix_exp((x + 1)[:, :3] / 20).t(), 2)[0] * 2,
    lambda x: torch.linalg.qr(x.t() + 1)[0].sin() + torch.linalg.qr(x.t() + 1)[1].sum(),
    lambda x: torch.linalg.matrix_exp((x + 1)[:, :3].t() / 20) * 2 + torch.linalg.matrix_exp(x[:, 1:] / 30 + 1) * 3,
    lambda x: torch.linalg.matrix_exp((x + 1)[:, :1].expand(3, 3) / 20) * 2,
    lambda x: torch.linalg.matrix_exp((x + 1).t()[1:3, ::2] / 20) * 2,
    lambda x: torch.linalg.matrix_exp(torch.linalg.qr(x.t() + 1)[0].narrow(0, 1, 3).expand(2, 3, 3)) * 2,
    lambda x: torch.ops.aten.searchsorted.Tensor((x + 1).sort()[0], x * 2, right=True) + 1,
    lambda x: torch.ops.aten.searchsorted.Scalar((x[0] + 1).sort()[0], 2.5) + 1])
@pytest.mark.parametrize("x", [X, (X.t().contiguous() / 2).t(), X[:, ::2].repeat(1, 2)], ids=["plain", "transposed", "copied"])
def test_calls_see_tensors_as_in_eager(function, x):
    program = check(function, x)
    assert steps_of(program).count("Segment") == 1


def test_call_with_arguments_longer_than_a_target_cuts():
    from stoker.graph import host_call

    places = list(range(host_call.MAX_BYTES))
    with pytest.raises(host_call.NoHostCall, match="more than 4096"):
        host_call.HostCall("aten.f.default", places, {}, [], [[None, None]]).text()


@pytest.mark.parametrize("argument", [
    None, True, 3, -2.5, float("inf"), 1e300, "text \\ \"", torch.float16, torch.strided, torch.channels_last,
    torch.device("cpu"), [1, [2, None]], Slot(0)])
def test_arguments_of_calls_are_the_same_after_a_round_trip(argument):
    call = HostCall(
        "aten.f.default", [argument], {"name": argument}, [None, (1, 0), View((2, 3), (3, 1), 4)], [(None, None), (2, (1, 0))])
    assert HostCall.parse(call.text()) == call
    assert HostCall.parse(call.text()).text() == call.text()


@pytest.mark.parametrize("text", [
    "", "nonsense", "{}", "[1]", '{"op":"aten.f"}',
    '{"op":"a","arguments":[{"torch":"save"}],"keywords":[],"orders":[],"results":[]}',
    '{"op":"a","arguments":[],"keywords":[],"orders":[[0,0]],"results":[]}'])
def test_other_targets_are_refused(text):
    with pytest.raises(NoHostCall, match="no call of an operator"):
        HostCall.parse(text)


def test_independent_operators_share_one_segment():
    def function(x):
        a, b = x[:, :3] + torch.eye(3), x[:, 1:] + 2 * torch.eye(3)
        return torch.linalg.inv(a * 2) + torch.linalg.inv(b * 3)

    program = check(function, X)
    assert steps_of(program).count("Segment") == 1 and len(calls_of(program)) == 2


def test_complex_numbers_run_eagerly():
    program = check(lambda x: torch.fft.rfft(x + 1).abs() * 2, X)
    assert "aten._fft_r2c.default" in program.fallbacks
    assert steps_of(program).count("Segment") == 2


def test_views_between_eager_operators_need_no_segment():
    program = check(lambda x: torch.linalg.inv(torch.linalg.inv(x[:, :3] + torch.eye(3)).t()), X)
    assert steps_of(program).count("Segment") == 1


def test_graph_of_views_runs_eagerly():
    program = check(lambda x: x.t().unsqueeze(0), X)
    assert "Segment" not in steps_of(program) and not program.fallbacks


def test_unused_second_result_does_not_matter():
    assert not check(lambda x: torch.max_pool2d(x.reshape(1, 1, 3, 4), 2), X).fallbacks


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_by_a_row_runs_eagerly(training):
    program = check(lambda x, row: torch.nn.functional.batch_norm(
        x + 1, row * 2, row + 1, row[None], training=training) * 2, X, X[1])
    assert set(program.fallbacks.values()) == {"parameters that are no vectors"}


@pytest.mark.parametrize("scale", [-1.0, 0.0])
def test_causal_attention_by_a_scale_that_is_not_positive_runs_eagerly(scale):
    program = check(lambda x: torch.nn.functional.scaled_dot_product_attention(
        x[None, None] + 1, x[None, None], x[None, None], is_causal=True, scale=scale) * 2, X)
    assert list(program.fallbacks) == ["aten._scaled_dot_product_flash_attention_for_cpu.default"]


def test_used_indices_of_large_windows_run_eagerly():
    program = check(
        lambda x: torch.nn.functional.max_pool2d(x.repeat(1, 3, 3)[None] * 2, 9, return_indices=True), X)
    assert program.fallbacks == {
        "aten.max_pool2d_with_indices.default": "the places of the maxima in windows of 81 elements"}


def test_random_numbers_keep_their_order():
    def function(x):
        return torch.rand_like(x) + torch.linalg.inv(torch.rand(3, 3)).sum()

    gm, program = lowered(function, X)
    torch.manual_seed(3)
    expected = function(X)
    torch.manual_seed(3)
    result, = run_program(gm, program, [X])
    torch.testing.assert_close(result, expected)


def gradients(groups, window, stride):
    x, w = torch.ones(2, 32, 24, 24), torch.ones(32, 32 // groups, window, window)
    settings = ([stride] * 2, [0, 0], [1, 1], False, [0, 0], groups)
    grad = torch.ones_like(torch.ops.aten.convolution(x, w, None, *settings))
    return lowered(
        lambda grad, x, w: torch.ops.aten.convolution_backward(grad + 1, x, w, None, *settings, [True, True, False])[:2],
        grad, x, w)[1]


@pytest.mark.parametrize("window, stride", [(3, 1), (3, 2), (1, 2)])
def test_gradients_of_convolutions_do_not_cut_a_graph(window, stride):
    assert steps_of(gradients(1, window, stride)) == ["Segment"]


@pytest.mark.parametrize("groups, window", [(1, 1), (32, 3)])
def test_gradients_that_pytorch_has_faster_are_left_to_it(groups, window):
    program = gradients(groups, window, 1)
    assert "PyTorch's library" in program.fallbacks["aten.convolution_backward.default"]


# ---- Random numbers -------------------------------------------------------------------------------


def check_drawn(function, *inputs, segments, atol=1e-5):
    """As check, with one seed: the generator gives the same numbers."""
    gm, program = lowered(function, *inputs)
    torch.manual_seed(7)
    expected = function(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    torch.manual_seed(7)
    results = run_program(gm, program, inputs)
    for result, one in zip(results, expected, strict=True):
        torch.testing.assert_close(result, one, atol=atol, rtol=1e-3, equal_nan=True)
    assert steps_of(program).count("Segment") == segments
    return program


def dropout(x, rate=0.3, train=True):
    return torch.ops.aten.native_dropout(x, rate, train)


@pytest.mark.parametrize("function", [
    lambda x: dropout((x / 10).exp())[0].sin(),
    lambda x: dropout(dropout(x + 1)[0].sin(), 0.5)[0] + torch.rand_like(x * 2),
    lambda x: dropout((x + 1).T)[0] * 2,
    lambda x: dropout(x + 1),
    lambda x: dropout(x / 0, 0.5, None)[0] + 1,
    lambda x: torch.nn.functional.dropout(x + 1, 0.4) * torch.nn.functional.dropout(x + 2, 0.4),
    lambda x: torch.rand_like((x + 1).T).T + torch.randn_like(x * 3),
    lambda x: (x + 1).clone().uniform_(0, 1) * 2,
    lambda x: torch.empty_like(x * 2).exponential_() + x,
    lambda x: torch.nn.functional.gumbel_softmax(x * 2),
])
def test_draws_that_need_no_elements_come_before_the_one_segment(function):
    program = check_drawn(function, X, segments=1)
    assert set(program.fallbacks.values()) == {"random numbers"}


def test_dropout_of_images_draws_as_they_lie():
    x = torch.arange(48.0).reshape(2, 2, 3, 4).to(memory_format=torch.channels_last)
    check_drawn(lambda x: dropout(x + 1)[0] * 2, x, segments=1)


def test_dropout_of_narrow_floats_scales_as_eager_does():
    check_drawn(lambda x: dropout(x + 1)[0] * 2, X.bfloat16(), segments=1, atol=0.1)


@pytest.mark.parametrize("function", [
    lambda x: torch.bernoulli(torch.sigmoid(x + 1)) + torch.rand_like(x + 1) + torch.randn_like(x * 3),
    lambda x: torch.rand_like(x + 1) + torch.bernoulli(torch.sigmoid(x + 1)) * 2 + torch.bernoulli(torch.sigmoid(x)),
    lambda x: torch.poisson((torch.bernoulli(torch.sigmoid(x + 1)) + 1).t()).t() * 2 + torch.poisson(x + 2) * 3])
def test_draws_that_follow_values_keep_their_order(function):
    assert calls_of(check_drawn(function, X, segments=1))


def test_draws_beside_complex_numbers_keep_their_order():
    def function(x):
        first = torch.bernoulli(torch.sigmoid(x + 1)) * 2
        cut = torch.fft.rfft(first).abs() + 1
        return torch.bernoulli(torch.sigmoid(cut)) + 1, torch.poisson(first + 1) * 2, torch.bernoulli(torch.sigmoid(x - 1))

    check_drawn(function, X, segments=2)


def test_draws_stay_outside_where_they_must():
    gm = graph_of(lambda x: torch.bernoulli(torch.sigmoid(x + 1)) * 2, X)
    assert steps_of(lower(gm, (), draws_inside=False)).count("Segment") == 2
    assert steps_of(lower(gm, ())).count("Segment") == 1


def test_index_out_of_bounds_is_told_before_what_an_operator_makes_of_it():
    def function(i, x):
        return torch.linalg.matrix_exp(x[i][:, :3] / 20) * 2

    gm, program = lowered(function, torch.tensor([0, 1, 2]), X)
    assert steps_of(program).count("Segment") == 1
    text, = (segment.text for segment in segments_of(program))
    call = next(line for line in text.splitlines() if "extern_call(" in line)
    assert call.split("extern_call(")[1].split(")")[0].count("%") == 3  # What it is given, and two limits.
    with pytest.raises(IndexError):
        run_program(gm, program, [torch.tensor([0, 3, 2]), X])


def test_dropout_of_nothing_and_without_training_draws_nothing():
    check(lambda x: dropout((x + 1)[:, :0])[0] + 1, X)
    program = check(lambda x: dropout(x + 1, 0.3, False)[0] * 2, X)
    assert steps_of(program) == ["Segment"] and not program.fallbacks
    program = check_drawn(lambda x: torch.nn.functional.dropout(x / 0 + 1, 1.0) * 2, X, segments=1)
    assert not program.fallbacks


def test_what_may_draw_keeps_its_place_among_draws():
    graph = torch.fx.Graph()
    node = functools.partial(graph.call_function, args=())
    assert not may_draw(node(torch.ops.aten.add.Tensor)) and not may_draw(node(operator.getitem))
    assert may_draw(node(torch.ops.aten.rand_like.default)) and may_draw(node(torch.cond))
    assert is_random(torch.ops.aten.rand_like.default) and not is_random(torch.cond)


def test_a_draw_of_what_has_gaps_is_like_it():
    check_drawn(lambda x: torch.rand_like((x + 1)[:, ::2].expand(4, 3, 2)) * x[:, :1], X, segments=2)


# ---- Parameters -----------------------------------------------------------------------------------


def test_parameters_carry_their_role():
    _, program = lowered(lambda x, w: x @ w, X, X.t().contiguous(), parameters=[1])
    segment, = segments_of(program)
    assert [source.parameter for source in segment.inputs] == [False, True]
    assert "%1: parameter f32[4,3]" in segment.text


def test_unused_inputs_are_not_asked_for():
    _, program = lowered(lambda x, w, y: x + y, X, X, X)
    assert [source.slot for source in segments_of(program)[0].inputs] == [0, 2]


# ---- Layouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [
    X.t(), X[:, ::2], X[1:], X.expand(2, 3, 4), X.reshape(1, 3, 4, 1).transpose(0, 3),
    torch.arange(48.0).reshape(2, 4, 3, 2).to(memory_format=torch.channels_last),
    torch.arange(3.0)[1:2].expand(4), torch.zeros(0, 4).t()], ids=lambda x: str(x.stride()))
def test_input_of_any_layout(x):
    check(lambda x: x * 2 + 1, x)


def test_dense_layouts_are_read_in_place():
    images = torch.arange(48.0).reshape(2, 4, 3, 2).to(memory_format=torch.channels_last)
    _, program = lowered(lambda x: x * 2, images)
    segment, = segments_of(program)
    assert segment.text.startswith("graph @main(%0: f32[2,3,2,4])")
    assert segment.outputs[0].layout.strides == images.stride()


@pytest.mark.parametrize("function", [
    lambda x: (x + 1).t(), lambda x: (x + 1)[:, ::2], lambda x: (x + 1).expand(2, 3, 4),
    lambda x: (x + 1)[1:, 1:].unsqueeze(0)])
def test_output_of_any_layout(function):
    gm, program = lowered(function, X)
    result, = run_program(gm, program, [X])
    promised = gm.graph.output_node().args[0][0].meta["val"]
    if 0 not in promised.stride():
        assert result.stride() == promised.stride()


def test_as_strided_sees_the_strides_it_was_written_for():
    check(lambda x: torch.as_strided((x + 1).t(), (2, 2), (1, 4)) * 2, X)


# ---- Aliasing -------------------------------------------------------------------------------------


def test_output_that_is_a_copy_of_an_input_is_a_new_tensor():
    gm, program = lowered(lambda x: (x.clone(), x + 1), X)
    copy, _ = run_program(gm, program, [X])
    assert copy.data_ptr() != X.data_ptr()
    assert any(isinstance(step, Copy) for step in program.steps)


def test_equal_outputs_are_two_tensors():
    gm, program = lowered(lambda x: (x + 1, (x + 1).clone()), X)
    first, second = run_program(gm, program, [X])
    assert first.data_ptr() != second.data_ptr()
    torch.testing.assert_close(first, second)


@pytest.mark.parametrize("function", [
    lambda x: (x.t().clone(), x + 1), lambda x: (x + 1, (x + 1).t().clone()),
    lambda x: (x + 1, (x + 1).t().contiguous()), lambda x: ((x + 1)[:, ::2].clone(), x.clone())])
@pytest.mark.parametrize("x", [X, X.t(), X[:, ::2]], ids=["plain", "transposed", "strided"])
def test_copies_know_how_their_source_lies(function, x):
    check(function, x)


def test_output_that_views_an_input_is_made_by_pytorch():
    _, program = lowered(lambda x: (x.t(), x + 1), X)
    assert [step.target for step in program.steps if isinstance(step, EagerCall)] == [
        torch.ops.aten.t.default]


@pytest.mark.parametrize("function", [
    lambda x: ((x + 1)[:2], (x + 1)[1:]), lambda x: (lambda y: (y[:2], y[1:]))(x + 1),
    lambda x: (x + 1).chunk(2), lambda x: (x + 1).unbind(1)])
def test_views_of_a_hidden_tensor_share_its_memory(function):
    gm, program = lowered(function, X)
    results = run_program(gm, program, [X])
    shared = len({result.untyped_storage().data_ptr() for result in results}) == 1
    expected = function(X)
    assert shared == (len({result.untyped_storage().data_ptr() for result in expected}) == 1)
    for result, reference in zip(results, expected):
        torch.testing.assert_close(result, reference)


def test_expanded_output_stays_expanded():
    gm, program = lowered(lambda x: (x.sum(0, keepdim=True) + 1).expand(7, 4), X)
    assert run_program(gm, program, [X])[0].stride() == (0, 1)


# ---- Masks that shapes decide ---------------------------------------------------------------------

Q = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))


def attention_lines(program):
    return [line for line in segments_of(program)[0].text.splitlines() if "attention(" in line]


@pytest.mark.parametrize("mask, expected", [
    (lambda row, column: column <= row, "causal=true"),
    (lambda row, column: column >= 0, "causal=false"),
    (lambda row, column: torch.where(column <= row, 0.0, float("-inf")), "causal=true")])
def test_mask_from_shapes_is_recognized(mask, expected):
    def function(q):
        row, column = torch.arange(5)[:, None], torch.arange(5)[None]
        full = (mask(row, column) + torch.zeros(5, 5, dtype=torch.int64)).expand(1, 1, 5, 5)
        full = full if full.is_floating_point() else full.bool()
        return torch.nn.functional.scaled_dot_product_attention(q + 1, q * 2, q, full)

    line, = attention_lines(check(function, Q))
    assert expected in line and line.count("%") == 4


@pytest.mark.parametrize("mask", [
    lambda row, column: column <= row + 1, lambda row, column: (column + row) % 2 == 0])
def test_other_mask_from_shapes_is_kept(mask):
    def function(q):
        full = mask(torch.arange(5)[:, None], torch.arange(5)[None]).expand(1, 1, 5, 5)
        return torch.nn.functional.scaled_dot_product_attention(q + 1, q * 2, q, full)

    line, = attention_lines(check(function, Q))
    assert line.count("%") == 5


def test_boolean_mask_stays_boolean():
    mask = torch.tensor([1, 1, 0, 1, 0]).bool().expand(1, 1, 5, 5)
    program = check(
        lambda q, m: torch.nn.functional.scaled_dot_product_attention(q + 1, q, q, m), Q, mask)
    name = attention_lines(program)[0].split("attention(")[1].split(")")[0].split(", ")[3]
    text = segments_of(program)[0].text
    assert any(line.strip().startswith(f"{name} = ") and line.endswith("bool[1,1,5,5]")
               for line in text.splitlines()) or f"{name}: bool" in text


# ---- The text -------------------------------------------------------------------------------------


def test_text_does_not_depend_on_the_process():
    first, second = (
        segments_of(lowered(lambda x: (x @ x.t()).softmax(-1), X)[1])[0].text for _ in range(2))
    assert first == second


def test_unneeded_nodes_are_not_printed():
    _, program = lowered(lambda x: torch.native_layer_norm(x + 0, [4], None, None, 1e-5)[1], X)
    assert "rsqrt" not in segments_of(program)[0].text


def test_eager_call_takes_nested_arguments():
    def function(x):
        return torch._foreach_max([x, x * 2])[1] + 1

    (_, first, second), = (call.arguments[0:1] + call.arguments[0] for call in calls_of(check(function, X)))
    assert (first, second) == (Slot(0), Slot(1))
