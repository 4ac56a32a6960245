"""Convolutions on GPUs and what follows them, lowered without a GPU: what one call takes along, and what it computes."""

import json
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lowered import graph_of as traced, run_program
from stoker.captures.words.graphs import decode_program, encode_program
from stoker.lowering import targets
from stoker.lowering.lower import lower, need_numbers
from stoker.runtime.convolutions.fused import FUSED
from test_cuda_lowering import as_on_a_gpu, channels_last, graph_of, texts_of
from test_cuda_transformers import for_all_sizes, graphs_of, traced as compiled
from test_lowering import calls_of

BF16 = torch.bfloat16


def norm(x, weight, bias, mean, variance):
    return F.batch_norm(x, mean, variance, weight, bias, False, 0.1, 1e-3)


def lowered(monkeypatch, function, *inputs):
    as_on_a_gpu(monkeypatch)
    return lower(graph_of(function, *inputs, dtype=BF16), ())


IMAGE, WEIGHT, VECTORS = channels_last(2, 24, 7, 9), channels_last(24, 24, 3, 3), [(24,)] * 4
RESIDUAL = channels_last(2, 24, 7, 9)


def convolution(x, w, bias=None):
    return F.conv2d(x, w, bias, padding=1)


def scaled(x, w, v, bias=None):
    return norm(convolution(x, w, bias), *v)


# (function of image, weight, residual and the norm's vectors; what each convolution takes along: a shift and a ReLU, with or
# without the residual; None: nothing)
TAKEN = {
    "norm, relu": (lambda x, w, z, *v: scaled(x, w, v).relu(), [False]),
    "norm, residual, relu": (lambda x, w, z, *v: (scaled(x, w, v) + z).relu(), [True]),
    "norm of a bias": (lambda x, w, z, *v: scaled(x, w, v, v[0]).relu(), [False]),
    "norm without weight": (lambda x, w, z, *v: norm(convolution(x, w), None, None, *v[2:]).relu(), [False]),
    "in place": (lambda x, w, z, *v: F.relu(scaled(x, w, v).add_(z), inplace=True), [True]),
    "bias, relu": (lambda x, w, z, *v: convolution(x, w, v[0]).relu(), [False]),
    "bias, residual, relu": (lambda x, w, z, *v: (z + convolution(x, w, v[0])).relu(), [True]),
    "two branches": (lambda x, w, z, *v: (scaled(x, w, v) + scaled(x + 1, w, v, v[1])).relu(), [None, True]),
    "branch of no norm": (lambda x, w, z, *v: (scaled(x, w, v) + convolution(x + 1, w)).relu(), [None, True]),
    "branch of a bias": (lambda x, w, z, *v: (scaled(x, w, v) + convolution(x + 1, w, v[1])).relu(), [None, True]),
    "branch after a bias": (lambda x, w, z, *v: (convolution(x + 1, w, v[1]) + scaled(x, w, v)).relu(), [None, True]),
    "two biases": (lambda x, w, z, *v: (convolution(x, w, v[0]) + convolution(x + 1, w, v[1])).relu(), [None, True]),
    "branch read twice": (lambda x, w, z, *v: (lambda y: ((scaled(x, w, v) + y).relu(), y * 2))(scaled(x + 1, w, v)), [None, True]),
    "two blocks": (lambda x, w, z, *v: (scaled(scaled(x, w, v).relu(), w, v) + z).relu(), [False, True]),
    "residual of a block": (lambda x, w, z, *v: (lambda y: (scaled(y, w, v) + y).relu())(scaled(x, w, v).relu()), [False, True]),
    "norm": (lambda x, w, z, *v: scaled(x, w, v), [None]),
    "bias": (lambda x, w, z, *v: convolution(x, w, v[0]), [None]),
    "relu": (lambda x, w, z, *v: convolution(x, w).relu(), [None]),
    "residual": (lambda x, w, z, *v: (z + convolution(x, w)).relu(), [None]),
    "read twice": (lambda x, w, z, *v: (lambda y: y.relu() * y.sigmoid())(scaled(x, w, v)), [None]),
    "read before": (lambda x, w, z, *v: (lambda y: norm(y, *v).relu() * y.sigmoid())(convolution(x, w)), [None]),
    "given out": (lambda x, w, z, *v: (lambda y: (y, (y + z).relu()))(scaled(x, w, v)), [None]),
    "given out before": (lambda x, w, z, *v: (lambda y: (y, norm(y, *v).relu()))(convolution(x, w)), [None]),
    "itself": (lambda x, w, z, *v: (lambda y: (y + y).relu())(scaled(x, w, v)), [None]),
    "factor": (lambda x, w, z, *v: torch.add(scaled(x, w, v), z, alpha=2).relu(), [None]),
    "wider": (lambda x, w, z, *v: (scaled(x, w, v) + z.float()).relu(), [None]),
    "expanded": (lambda x, w, z, *v: (scaled(x, w, v) + z[:, :, :1, :1]).relu(), [None]),
    "lies otherwise": (lambda x, w, z, *v: (scaled(x, w, v) + z.contiguous()).relu(), [None]),
    "number": (lambda x, w, z, *v: (scaled(x, w, v) + 1).relu(), [None]),
    "a number for all dims": (lambda x, w, z, *v: norm(
        torch.convolution(x, w, None, (1,), (1,), (1,), False, (0,), 1), *v).relu(), [None]),
    "training": (lambda x, w, z, *v: F.batch_norm(convolution(x, w), None, None, *v[:2], True).relu(), [None]),
}


def taken_of(program):
    return [bool(call.arguments[3]) if call.operator == str(FUSED) else None for call in all_calls(program)]


def all_calls(program):
    """Inside segments and beside them."""
    beside = [step for step in program.steps if str(getattr(step, "target", "")).partition(".")[0] in ("aten", "stoker")]
    found = calls_of(program) + [Beside(str(step.target), step.arguments) for step in beside]
    return [call for call in found if "convolution" in call.operator]


class Beside:
    def __init__(self, operator, arguments):
        self.operator, self.arguments = operator, [
            1 if hasattr(argument, "index") and not isinstance(argument, (list, tuple)) else argument for argument in arguments]


@pytest.mark.parametrize("name", TAKEN)
def test_a_call_takes_along_what_alone_reads_it(monkeypatch, name):
    function, taken = TAKEN[name]
    program = lowered(monkeypatch, function, IMAGE, WEIGHT, RESIDUAL, *VECTORS)
    assert sorted(map(str, taken_of(program))) == sorted(map(str, taken)) and not program.fallbacks


class Net:
    """A chain at random, as a function of its tensors: what is taken along, and what is near it and is not."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        self.rank = chosen.choice((2, 2, 2, 2, 2, 3, 1))
        self.groups = chosen.choice((1, 1, 1, 1, 1, 2))
        self.channels, self.features = (self.groups * chosen.choice((8, 8, 16, 16, 24, 24, 17)) for _ in range(2))
        self.window, self.stride, self.dilation = chosen.choice((1, 3)), chosen.choice((1, 1, 2)), chosen.choice((1, 1, 2))
        self.padding = chosen.choice((0, 1))
        self.has_bias, self.has_norm, self.is_affine, self.adds, self.has_relu, self.is_last, self.is_given = (
            chosen.random() < share for share in (0.5, 0.7, 0.8, 0.5, 0.9, 0.9, 0.1))

    def inputs(self, seed):
        generator = torch.Generator().manual_seed(seed)

        def made(*shape):
            tensor = torch.randn(shape, generator=generator).to(BF16)
            layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(shape) if self.is_last else 0)
            return tensor if layout is None else tensor.to(memory_format=layout)

        image = made(2, self.channels, *[7, 6, 5][:self.rank])
        weight = made(self.features, self.channels // self.groups, *[self.window] * self.rank)
        vectors = [made(self.features) for _ in range(4)] + [made(self.features).abs() + 0.5]
        return [image, weight, made(*self.convolved(image, weight).shape), *vectors]

    def convolved(self, image, weight, bias=None):
        function = (F.conv1d, F.conv2d, F.conv3d)[self.rank - 1]
        return function(image, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def __call__(self, image, weight, residual, bias, *vectors):
        y = self.convolved(image * 2, weight, bias if self.has_bias else None)
        if self.has_norm:
            y = norm(y, *(vectors if self.is_affine else (None, None, *vectors[2:])))
        given = [y] if self.is_given else []
        y = y + residual if self.adds else y
        y = y.relu() if self.has_relu else y
        return [*given, y]


def as_cores(monkeypatch):
    """With the evaluator in place of a GPU."""
    monkeypatch.setitem(targets.ABSENT, "cpu", targets.ABSENT["cuda"])
    monkeypatch.setitem(targets.OF_LIBRARIES, "cpu", targets.OF_LIBRARIES["cuda"])


def computed(function, inputs):
    gm = traced(function, *inputs)
    program = lower(gm, ())
    assert not program.fallbacks
    return run_program(gm, program, inputs), sum(call.operator == str(FUSED) for call in all_calls(program))


@pytest.mark.parametrize("seed", range(3))
def test_chains_at_random_compute_the_same(monkeypatch, seed):
    as_cores(monkeypatch)
    taken = 0
    for number in range(9):
        net = Net(9 * seed + number)
        inputs = net.inputs(seed)
        found, calls = computed(net, inputs)
        taken += calls
        for mine, exact, eager in zip(found, net(*(x.double() for x in inputs)), net(*inputs), strict=True):
            assert mine.dtype == BF16 and mine.stride() == eager.stride(), vars(net)
            # Roundings of what lies in between, as eager makes them.
            torch.testing.assert_close(mine.double(), exact, rtol=2**-7, atol=2**-7 * exact.abs().max().item(), msg=str(vars(net)))
    assert taken


@pytest.mark.parametrize("name", [name for name, (_, taken) in TAKEN.items() if taken != [None]])
def test_what_a_call_takes_along_computes_the_same(monkeypatch, name):
    as_cores(monkeypatch)
    torch.manual_seed(0)
    image, z, weight = (torch.randn(shape).to(BF16).to(memory_format=torch.channels_last)
                        for shape in ((2, 24, 7, 9), (2, 24, 7, 9), (24, 24, 3, 3)))
    inputs = [image, weight, z, *(torch.randn(24).to(BF16) for _ in range(3)), torch.rand(24).to(BF16) + 0.5]
    found, calls = computed(TAKEN[name][0], inputs)
    exact = TAKEN[name][0](*(x.double() for x in inputs))
    exact = [exact] if isinstance(exact, torch.Tensor) else exact
    assert calls == len([each for each in TAKEN[name][1] if each is not None])
    for mine, expected in zip(found, exact, strict=True):
        torch.testing.assert_close(mine.double(), expected, rtol=2**-6, atol=2**-6 * expected.abs().max().item())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays(monkeypatch, value):
    as_cores(monkeypatch)
    function = TAKEN["norm, residual, relu"][0]
    inputs = [torch.randn(shape).to(BF16).to(memory_format=torch.channels_last)
              for shape in ((2, 24, 7, 9), (24, 24, 3, 3), (2, 24, 7, 9))] + [torch.rand(24).to(BF16) + 0.5 for _ in range(4)]
    inputs[0][0, 3, 2, 2] = inputs[2][1, 5, 6, 8] = value
    found, expected = computed(function, inputs)[0][0], function(*inputs)
    assert torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.isinf(), expected.isinf())


def test_weights_that_lie_otherwise_are_brought_along(monkeypatch):
    program = lowered(
        monkeypatch, lambda x, w, *v: TAKEN["norm, relu"][0](x + 1, w, None, *v) * 2, IMAGE, (24, 24, 3, 3), *VECTORS)
    call, = calls_of(program)
    assert call.operator == str(FUSED) and call.orders[1] == (0, 2, 3, 1)


def test_calls_are_stored_and_loaded(monkeypatch):
    program = lowered(monkeypatch, TAKEN["bias, relu"][0], IMAGE, WEIGHT, RESIDUAL, *VECTORS)
    words = json.loads(json.dumps(encode_program(program, [""] * len(program.steps))))
    step, = decode_program(words, torch.device("cuda", 3)).steps
    assert step.target is FUSED and step.arguments == program.steps[0].arguments


def test_weights_are_rounded_once(monkeypatch):
    """What a norm multiplies by, and what it adds, are computed in f32."""
    as_cores(monkeypatch)
    torch.manual_seed(1)
    weight = torch.randn(16, 8, 3, 3).to(BF16).to(memory_format=torch.channels_last)
    vectors = [torch.randn(16).to(BF16) for _ in range(3)] + [torch.rand(16).to(BF16) + 0.5]
    image = torch.zeros(1, 8, 5, 5).to(BF16).to(memory_format=torch.channels_last)
    image[0, 3, 2, 2] = 1
    found, calls = computed(lambda x, w, *v: norm(convolution(x, w), *v).relu(), [image, weight, *vectors])
    gamma, beta, mean, variance = (each.float() for each in vectors)
    scale = gamma * torch.rsqrt(variance + 1e-3)
    scaled = (weight.float() * scale.view(-1, 1, 1, 1)).to(BF16).float()
    shift = (beta - mean * scale).to(BF16).float()
    exact = (F.conv2d(image.float(), scaled, padding=1) + shift.view(-1, 1, 1)).relu().to(BF16)
    assert calls == 1
    torch.testing.assert_close(found[0], exact, rtol=2**-7, atol=0)


def test_norms_of_float16_stay(monkeypatch):
    """A weight times a factor may be no number there."""
    as_on_a_gpu(monkeypatch)
    shapes = [lambda device, made=made: made(device).half() for made in (IMAGE, WEIGHT, RESIDUAL)]
    for name, taken in (("norm, relu", None), ("bias, relu", False)):
        assert taken_of(lower(graph_of(TAKEN[name][0], *shapes, *VECTORS, dtype=torch.float16), ())) == [taken]


@pytest.mark.parametrize("image, weight, options", [
    (channels_last(2, 20, 7, 9), channels_last(24, 20, 3, 3), {}),
    (channels_last(2, 3, 7, 9), channels_last(24, 3, 3, 3), {}),
    (channels_last(2, 24, 7, 9), channels_last(20, 24, 3, 3), {}),
    (channels_last(2, 24, 7, 9), channels_last(24, 12, 3, 3), {"groups": 2}),
    ((2, 24, 7, 9), (24, 24, 3, 3), {}),
    ((2, 24, 9), (24, 24, 3), {})])
def test_other_convolutions_stay_as_they_are(monkeypatch, image, weight, options):
    def function(x, w, *v):
        return norm((F.conv2d if w.dim() == 4 else F.conv1d)(x + 1, w, **options), *v).relu()

    features = (weight if isinstance(weight, tuple) else tuple(weight("cpu").shape))[0]
    program = lowered(monkeypatch, function, image, weight, *[(features,)] * 4)
    assert [call.operator for call in calls_of(program)] == ["aten.convolution.default"]


class Block(nn.Module):
    """Of a residual network."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(24, 24, 3, padding=1, bias=False) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(24) for _ in range(2)])

    def forward(self, x):
        y = self.norms[0](self.convolutions[0](x)).relu()
        return (self.norms[1](self.convolutions[1](y)) + x).relu()


def test_batches_of_any_size_take_along_the_same(monkeypatch):
    as_on_a_gpu(monkeypatch)
    image = torch.zeros(4, 24, 7, 9, dtype=BF16).to(memory_format=torch.channels_last)
    program = for_all_sizes(compiled(Block, image, varying=[0]))
    assert program.symbols and not program.fallbacks
    assert taken_of(program) == [False, True] and not any(condition.relation == "==" for condition in program.conditions)


class Halved(nn.Module):
    """Twice, so that a size is a quotient of one."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(F.max_pool2d(x, 3, 2, 1))
        return x


def test_images_of_any_size_take_along_the_same(monkeypatch):
    as_on_a_gpu(monkeypatch)
    image = torch.zeros(4, 24, 33, 46, dtype=BF16).to(memory_format=torch.channels_last)
    program = for_all_sizes(compiled(Halved, image, varying=[0, 2, 3]))
    assert program.symbols and not program.fallbacks and taken_of(program) == [False, True] * 2
    assert not any(condition.relation == "==" for condition in program.conditions)
    assert program.fits((2, 224, 512)) and program.fits((7, 47, 30))


class Pooled(nn.Module):
    """PyTorch says by as_strided how an image of one place lies."""

    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(24, 10)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.block(x), 1).flatten(1))


def test_an_image_of_one_place_needs_no_number(monkeypatch):
    as_on_a_gpu(monkeypatch)
    image = torch.zeros(4, 24, 7, 9, dtype=BF16).to(memory_format=torch.channels_last)
    graph = compiled(Pooled, image, varying=[0])
    assert any("as_strided" in str(node.target) for node in graph.graph.nodes)
    assert not need_numbers(graph)
    program = for_all_sizes(graph)
    assert program.symbols and taken_of(program) == [False, True] and not program.fallbacks


def on_gpu(graph):
    """What was traced on the CPU."""
    def moved(value):
        if isinstance(value, torch.Tensor):
            with value.fake_mode:
                return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        return type(value)(map(moved, value)) if isinstance(value, (list, tuple)) else value

    for node in graph.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = moved(node.meta["val"])


def test_gradients_are_calls_for_any_batch(monkeypatch):
    """What has no kernel asks for no numbers."""
    as_on_a_gpu(monkeypatch)
    monkeypatch.setattr(targets, "device_of", lambda gm: torch.device("cuda"))
    graphs = graphs_of(
        lambda: nn.Conv2d(3, 8, 3, padding=1, stride=2), [torch.zeros(4, 3, 9, 8, dtype=BF16)], [0], "cpu")
    for graph in graphs:
        on_gpu(graph)
    programs = [for_all_sizes(graph) for graph in graphs]
    assert len(programs) == 2
    for program in programs:
        assert program.symbols and not program.fallbacks
        assert all(condition.relation == ">=" for condition in program.conditions)
