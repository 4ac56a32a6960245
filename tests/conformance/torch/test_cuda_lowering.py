"""Graphs of CUDA tensors, lowered without a GPU: what is a kernel of Stoker's there, what a call of PyTorch's."""

import json

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from stoker.captures.words.graphs import decode_program, encode_eager, encode_program
from stoker.captures.words.values import NotPortable
from stoker.graph.host_call import HostCall, View
from stoker.graph.program import EagerCall, Segment
from stoker.lowering import targets
from stoker.lowering.lower import lower
from lowered import graph_of as traced, run_program
from test_lowering import calls_of


def graph_of(function, *shapes, device="cuda:0", dtype=torch.float32):
    """The functional graph. `shapes`: of inputs, or f(device) that gives one."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        return traced(function, *[
            shape(device) if callable(shape) else torch.empty(shape, device=device, dtype=dtype) for shape in shapes])


def lowered(function, *shapes, parameters=(), **keywords):
    return lower(graph_of(function, *shapes, **keywords), parameters)


def texts_of(program):
    return [step.text for step in program.steps if isinstance(step, Segment)]


def operators_of(program):
    """(those called inside segments, those called outside)"""
    inside = [call.operator for call in calls_of(program)]
    return inside, [str(step.target) for step in program.steps if isinstance(step, EagerCall)]


def scalar(device):
    return torch.empty(())


def vector(device):
    return torch.empty((8,))


PROGRAMS = {
    "mlp": (lambda x, w, b: F.gelu(F.linear((x + 1).softmax(-1), w, b)).sum(-1), [(4, 3, 8), (16, 8), (16,)]),
    "made": (lambda x: x + torch.arange(8, device=x.device) * torch.ones(8, device=x.device), [(4, 8)]),
    "dropout": (lambda x: F.dropout(x + 1, 0.25).sin() + torch.rand_like(x), [(4, 8)]),
    "sorted": (lambda x: torch.full((4, 8), 2.0, device=x.device) * (x + 1).sort(-1)[0] * 2, [(4, 8)]),
    "rows": (lambda x, i: F.embedding((i * 2).long(), x) * 2, [(4, 8), (3,)])}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_names_a_gpu_by_number(name):
    function, shapes = PROGRAMS[name]
    first, second = (lowered(function, *shapes, device=device) for device in ("cuda:0", "cuda:1"))
    assert texts_of(first) == texts_of(second) != []
    words = []
    for program, device in ((first, "cuda:0"), (second, "cuda:1")):
        gm = graph_of(function, *shapes, device=device)
        words.append([encode_program(program, [""] * len(program.steps)), encode_eager(gm)])
        assert "cuda:" not in json.dumps(words[-1])
    assert words[0] == words[1] and first.device == "cuda"


def test_what_was_stored_makes_tensors_on_the_gpu_that_it_is_loaded_for():
    program = lowered(*PROGRAMS["dropout"][:1], *PROGRAMS["dropout"][1])
    words = json.loads(json.dumps(encode_program(program, [""] * len(program.steps))))
    loaded = decode_program(words, torch.device("cuda:3"))
    devices = {step.keywords["device"] for step in loaded.steps if isinstance(step, EagerCall) and "device" in step.keywords}
    assert devices == {torch.device("cuda:3")}


def test_several_gpus_are_not_portable():
    gm = graph_of(lambda x, y: (x + 1, y + 1), (4, 8), lambda device: torch.empty((4, 8), device="cuda:1"))
    with pytest.raises(NotPortable, match="several GPUs"):
        encode_eager(gm)


@pytest.mark.parametrize("function, shapes, called", [
    (lambda x, y, b: torch.addmm(b + 1, x + 1, y) @ x * 2, [(4, 8), (8, 4), (4,)], []),
    (lambda x, y: (x + 1) @ y * 2, [(2, 4, 8), (2, 8, 4)], []),
    (lambda x, w, b: F.conv2d(x + 1, w, b) * 2, [(2, 3, 8, 8), (6, 3, 3, 3), (6,)], ["aten.convolution.default"]),
    (lambda q, k, v: torch.ops.aten._scaled_dot_product_flash_attention(q + 1, k, v)[0] * 2, [(2, 4, 16, 64)] * 3, []),
    (lambda q, k, v: torch.ops.aten._scaled_dot_product_flash_attention(q + 1, k, v)[0] * 2, [(2, 4, 16, 72)] * 3,
     ["aten._scaled_dot_product_flash_attention.default"]),
    (lambda x: (x + 1).sort(-1)[0] * 2, [(4, 8)], ["aten.sort.default"]),
    (lambda x: (x + 1).cumsum(-1) * 2, [(4, 8)], ["aten.cumsum.default"]),
    (lambda x: F.layer_norm(x + 1, (8,)).softmax(-1).var(0), [(4, 8)], []),
    (lambda x: F.max_pool2d(F.group_norm(x + 1, 2), 2) * 2, [(2, 4, 8, 8)], [])])
def test_convolutions_attention_and_what_is_ordered_are_calls(function, shapes, called):
    program = lowered(function, *shapes, dtype=torch.float16)
    assert operators_of(program) == (called, []) and not program.fallbacks
    assert len(texts_of(program)) == 1


FLASH = torch.ops.aten._scaled_dot_product_flash_attention


@pytest.mark.parametrize("function, shape, dtype, is_kernel", [
    (lambda q: FLASH(q + 1, q, q)[0], (2, 4, 16, 64), torch.bfloat16, True),
    (lambda q: FLASH(q + 1, q, q, 0.0, True)[0], (2, 4, 16, 128), torch.float16, True),
    (lambda q: torch.ops.aten._scaled_dot_product_efficient_attention(q + 1, q, q, None, False, 0.0, True)[0],
     (2, 4, 16, 64), torch.bfloat16, True),
    (lambda q: torch.ops.aten._scaled_dot_product_cudnn_attention(q + 1, q, q, None, False)[0],
     (2, 4, 16, 64), torch.bfloat16, True),
    (lambda q: torch.ops.aten._scaled_dot_product_efficient_attention(q + 1, q, q, None, False)[0],
     (2, 4, 16, 64), torch.float32, False),
    (lambda q: FLASH(q + 1, q, q)[0], (2, 4, 16, 72), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[0], (2, 4, 16, 96), torch.bfloat16, True),
    (lambda q: FLASH(q + 1, q, q)[0], (2, 4, 16, 112), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[0], (2, 4, 16, 144), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[0], (8, 16, targets.MOST_KEYS, 64), torch.bfloat16, True),
    (lambda q: FLASH(q + 1, q, q)[0], (8, 16, targets.MOST_KEYS + 1, 64), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[0], (8, 16, targets.MOST_KEYS // 2 + 1, 128), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[0], (1, 16, targets.MOST_KEYS_OF_FEW, 64), torch.bfloat16, True),
    (lambda q: FLASH(q + 1, q, q)[0], (1, 16, targets.MOST_KEYS_OF_FEW + 1, 64), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q, 0.25)[0], (2, 4, 16, 64), torch.bfloat16, False),
    (lambda q: FLASH(q + 1, q, q)[:2], (2, 4, 16, 64), torch.bfloat16, False)])
def test_attention_is_a_kernel_where_that_is_fast(function, shape, dtype, is_kernel):
    program = lowered(function, shape, dtype=dtype)
    assert (" attention(" in "".join(texts_of(program))) == is_kernel
    assert bool(sum(operators_of(program), [])) != is_kernel and not program.fallbacks


@pytest.mark.parametrize("dropped, places", [(0.0, (1, 0)), (0.25, (0, 1))])
def test_attention_that_drops_keeps_its_state_out_of_kernels(dropped, places):
    attention = torch.ops.aten._scaled_dot_product_efficient_attention
    program = lowered(
        lambda q, k, v: attention(q + 1, k, v, None, True, dropped)[0] * 2, *[(2, 4, 16, 64)] * 3)
    name = "aten._scaled_dot_product_efficient_attention.default"
    assert tuple(called.count(name) for called in operators_of(program)) == places


def masked(make, dropped=-torch.inf):
    """Attention of a library's, with a mask of one number a query and a key. `make`: f(places of queries, of keys), what is kept;
    `dropped`: what is added to others."""
    def function(q):
        places = torch.arange(q.shape[2], device=q.device)
        kept = make(places[:, None], places[None, :]).expand(2, 1, 16, 16)
        scores = torch.where(kept, 0.0, dropped).to(q.dtype).expand(2, 4, 16, 16)
        return torch.ops.aten._scaled_dot_product_cudnn_attention(q + 1, q, q, scores, False)[0] * 2

    return function


@pytest.mark.parametrize("make, mask, causal", [
    (lambda i, j: (i >= 0) & (j >= 0), False, False),
    (lambda i, j: (i.cumsum(0) >= 0) & (j <= i), False, True),
    (lambda i, j: j <= i + 1, True, False),
    (lambda i, j: i >= j + 1, True, False)])
def test_masks_that_shapes_decide_are_none_or_causal(make, mask, causal):
    program = lowered(masked(make), (2, 4, 16, 64), dtype=torch.float16)
    if mask:
        call, = calls_of(program)
        assert call.arguments[3] is not None
    else:
        text, = texts_of(program)
        assert f"causal={str(causal).lower()}" in text
        assert not calls_of(program) and "iota" not in text  # What made the mask is gone with it.


@pytest.mark.parametrize("dropped, causal", [(-65504.0, True), (-1e4, False)])
def test_masks_of_large_numbers(dropped, causal):
    """PyTorch's conversion for cuDNN, and what a program adds itself."""
    program = lowered(masked(lambda i, j: j <= i, dropped), (2, 4, 16, 64), dtype=torch.bfloat16)
    assert ("causal=true" in "".join(texts_of(program))) == causal
    assert [call.arguments[3] is None for call in calls_of(program)] == ([] if causal else [False])


def test_masks_of_inputs_are_given():
    attention = torch.ops.aten._scaled_dot_product_efficient_attention
    program = lowered(
        lambda q, mask: attention(q + 1, q, q, mask.expand(2, 4, 16, 16), False)[0] * 2, (2, 4, 16, 64), (2, 1, 16, 16))
    call, = calls_of(program)
    assert call.arguments[3] is not None


def test_bias_of_a_convolution_is_added_by_a_kernel():
    program = lowered(lambda x, w, b: F.conv2d(x + 1, w, b) * 2, (2, 3, 8, 8), (6, 3, 3, 3), (6,))
    call, = calls_of(program)
    assert call.arguments[2] is None and texts_of(program)[0].count(" add(") == 2


def test_channels_last_images_lie_between_calls_as_they_are():
    def images(device):
        return torch.empty((2, 3, 8, 8), device=device).to(memory_format=torch.channels_last)

    program = lowered(lambda x, w, v: F.conv2d(F.conv2d(x + 1, w).relu(), v) * 2, images, (6, 3, 3, 3), (5, 6, 1, 1))
    for call in calls_of(program):
        assert call.orders[0] == (0, 2, 3, 1) and call.results == [(None, (0, 2, 3, 1))]


def test_parts_of_a_product_are_seen_where_they_lie():
    def heads(x, w):
        parts = [part.unflatten(-1, (4, 24)).transpose(1, 2) for part in torch.split(x @ w, 96, -1)]
        return torch.ops.aten._scaled_dot_product_flash_attention(*parts)[0].transpose(1, 2) * 2

    program = lowered(lambda x, w: heads(x + 1, w), (1, 8, 32), (32, 288), dtype=torch.float16)
    attention = calls_of(program)[-1]
    assert attention.operator.startswith("aten._scaled_dot_product_flash")
    assert attention.orders == [View((1, 4, 8, 24), (2304, 24, 288, 1), offset) for offset in (0, 96, 192)]
    assert " slice(" not in texts_of(program)[0]


def test_indices_are_required_with_what_is_said():
    text, = texts_of(lowered(PROGRAMS["rows"][0], *PROGRAMS["rows"][1]))
    assert text.count(" require(") == 1 and "index is out of bounds for dimension 0 with size 4" in text


def test_held_tensors_are_no_parameters_of_the_graph():
    program = lowered(lambda x, w: x * w, (4, 8), (4, 8), parameters=(1,))
    assert "parameter" not in texts_of(program)[0]
    assert [source.parameter for source in program.steps[0].inputs] == [False, True]


def test_scalars_of_the_cpu_go_along():
    program = lowered(lambda x, s: x * s + 1, (4, 8), scalar)
    assert operators_of(program) == ([], []) and len(texts_of(program)) == 1


def test_tensors_of_the_cpu_stay_there():
    program = lowered(lambda x, y: (x + 1, y.sin() + 1, x * y.cos().to(x.device)), (4, 8), vector)
    assert program.device == "cuda" and len(texts_of(program)) == 1
    assert program.fallbacks["aten.sin.default"] == "a tensor on cpu beside others on cuda"


def test_second_gpu_runs_in_eager():
    program = lowered(
        lambda x, y: (x + 1, y.sin()), (4, 8), lambda device: torch.empty((4, 8), device="cuda:1"))
    assert program.fallbacks == {"aten.sin.default": "a tensor on another cuda device"}


def test_indices_are_checked_by_the_device():
    program = lowered(lambda x, i: F.embedding(i, x) * 2, (4, 8), lambda device: torch.empty(3, dtype=torch.int64, device=device))
    segment, = program.steps
    assert segment.checks and segment.text.count("bool[]\n  return") == 1


def test_dropout_draws_as_eager_does():
    """Its mask by the operator itself, of a tensor that lies as x does; before all kernels."""
    program = lowered(lambda x: F.dropout(x + 1, 0.25) * 2, (4, 8), dtype=torch.bfloat16)
    inside, outside = operators_of(program)
    assert not inside and outside == [
        "aten.empty_strided.default", "aten.native_dropout.default", "<built-in function getitem>"]


def test_operators_of_a_backward_are_kernels_and_products():
    aten = torch.ops.aten
    program = lowered(
        lambda grad, x, w: aten.gelu_backward(aten._softmax_backward_data(grad, x, -1, torch.float32), x + 1).t() @ w,
        (4, 8), (4, 8), (4, 6))
    assert not program.fallbacks and len(texts_of(program)) == 1
    assert operators_of(program) == ([], [])


def test_devices_of_a_call_are_said_without_numbers():
    call = HostCall("aten.full.default", [[2], 1], {"device": torch.device("cuda:1")}, [], [(None, None)])
    assert HostCall.parse(call.text()).keywords["device"] == torch.device("cuda")


@pytest.mark.parametrize("function, shapes, dtype, taken", [
    (lambda x: F.avg_pool3d(x + 1, 2), [(1, 2, 4, 4, 4)], torch.float16, True),
    (lambda x: (x > 0).abs().float() * 2, [(4, 8)], torch.float32, True),
    (lambda x, y: (x @ y) * 2, [(4, 8), (8, 4)], torch.int64, False),
    (lambda x: F.pad(x[None] * 2, (1, 1), mode="reflect"), [(4, 8)], torch.int64, False),
    (lambda x: F.pad(x[None] * 2, (1, 1), mode="replicate"), [(4, 8)], torch.bfloat16, True)])
def test_what_kernels_take_is_of_the_device(function, shapes, dtype, taken):
    assert (not lowered(function, *shapes, dtype=dtype).fallbacks) == taken


def channels_last(*shape):
    return lambda device: torch.empty(shape, device=device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)


def as_on_a_gpu(monkeypatch):
    """PyTorch without a GPU traces convolutions as if cuDNN were not there, which keeps images as they lie."""
    def layout(x, weight, _):
        lie = [value.is_contiguous(memory_format=torch.channels_last) and not value.is_contiguous() for value in (x, weight)]
        return torch.channels_last if any(lie) else torch.contiguous_format

    monkeypatch.setattr(torch._C, "_conv_determine_backend_memory_format", layout)


@pytest.mark.parametrize("x, weight, stride, products", [
    (channels_last(2, 16, 7, 9), channels_last(24, 16, 1, 1), 1, 1),
    (channels_last(2, 16, 7, 9), (24, 16, 1, 1), 1, 1),
    (channels_last(2, 16, 7, 9), channels_last(24, 16, 1, 1), 2, 0),
    (channels_last(2, 16, 7, 9), channels_last(24, 16, 3, 3), 1, 0),
    ((2, 16, 8, 8), (24, 16, 1, 1), 1, 1),
    ((2, 16, 7, 9), (24, 16, 1, 1), 1, 0),
    ((2, 16, 1, 1), (24, 16, 1, 1), 1, 1)])
@pytest.mark.parametrize("bias", [False, True])
def test_convolutions_of_one_place_are_products(monkeypatch, x, weight, stride, products, bias):
    as_on_a_gpu(monkeypatch)
    program = lowered(
        lambda x, w, b: F.conv2d(x + 1, w, b if bias else None, stride=stride) * 2, x, weight, (24,), dtype=torch.bfloat16)
    text, = texts_of(program)
    assert text.count(" dot_general(") == products and not program.fallbacks
    assert operators_of(program) == (["aten.convolution.default"] * (1 - products), [])


@pytest.mark.parametrize("dtype, groups", [(torch.float32, 1), (torch.bfloat16, 2)])
def test_other_convolutions_of_one_place_are_calls(dtype, groups):
    program = lowered(
        lambda x, w: F.conv2d(x + 1, w, groups=groups) * 2, (2, 16, 8, 8), (24, 16 // groups, 1, 1), dtype=dtype)
    assert operators_of(program) == (["aten.convolution.default"], [])


@pytest.mark.parametrize("make", [channels_last, lambda *shape: shape])
@pytest.mark.parametrize("bias", [False, True])
def test_products_for_convolutions_compute_the_same(monkeypatch, make, bias):
    """With the evaluator in place of a GPU."""
    monkeypatch.setitem(targets.ABSENT, "cpu", targets.ABSENT["cuda"])
    shapes = (2, 16, 8, 8), (24, 16, 1, 1), (24,)
    x, w, b = (torch.randn(shape).to(torch.bfloat16) for shape in shapes)
    if make is channels_last:
        x = x.to(memory_format=torch.channels_last)

    def function(x, w, b):
        return F.conv2d(x * 2, w, b if bias else None).relu()

    gm = traced(function, x, w, b)
    program = lower(gm, ())
    assert texts_of(program)[0].count(" dot_general(") == 1
    found, = run_program(gm, program, [x, w, b])
    expected = function(*(value.double() for value in (x, w, b)))
    torch.testing.assert_close(found.double(), expected, rtol=1e-2, atol=2e-2)
    assert found.stride() == function(x, w, b).stride()


def test_strides_of_a_pooled_image_cut_nothing(monkeypatch):
    as_on_a_gpu(monkeypatch)
    program = lowered(
        lambda x: F.adaptive_avg_pool2d(x.relu(), 1).flatten(1) * 2, channels_last(2, 16, 7, 9), dtype=torch.bfloat16)
    assert operators_of(program) == ([], []) and not program.fallbacks


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_norm_by_running_statistics_keeps_them_for_the_backward(dtype):
    """On GPUs; on the CPU it keeps nothing."""
    program = lowered(
        lambda x, *v: torch.ops.aten._native_batch_norm_legit_no_training(x, *v, 0.1, 1e-5), (2, 8, 5, 3), *[(8,)] * 4, dtype=dtype)
    assert operators_of(program) == ([], []) and not program.fallbacks
    made = [step for step in program.steps if not isinstance(step, Segment)]
    made += [output for step in program.steps if isinstance(step, Segment) for output in step.outputs]
    assert sorted(tuple(each.layout.shape) for each in made) == [(2, 8, 5, 3), (8,), (8,)]
