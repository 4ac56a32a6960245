"""torch.compile with the backend, the evaluator in place of compiled code: capture, parameters, aliasing,
mutation, sizes, training, and what happens when something fails."""

import logging

import pytest
import torch

import stoker
from lowered import EvaluatedSegment
from stoker import backend, binding
from stoker.library import StokerError


@pytest.fixture(autouse=True)
def evaluated(monkeypatch):
    """Counts the segments that were compiled, as (segment, options)."""
    torch._dynamo.reset()
    compiled = []

    def make(segment, options, record):
        compiled.append((segment, options))
        return EvaluatedSegment(segment)

    monkeypatch.setattr(backend, "_executable", make)
    monkeypatch.setattr(backend, "_report", lambda fallbacks: None)
    return compiled


def compiled(function, **options):
    return torch.compile(function, backend=backend.stoker, **options)


@pytest.fixture
def warnings(monkeypatch):
    """The messages that are warned about; every message counts as new."""
    messages = []

    class Keep(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())

    handler = Keep(logging.WARNING)
    logging.getLogger("stoker").addHandler(handler)
    monkeypatch.setattr("stoker.log._said", set())
    yield messages
    logging.getLogger("stoker").removeHandler(handler)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(self.norm(torch.nn.functional.gelu(self.first(x))))


X = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_model_is_one_segment_with_parameters(evaluated):
    model = Network().eval()
    torch.testing.assert_close(compiled(model)(X), model(X))
    (segment, _), = evaluated
    assert sorted(source.parameter for source in segment.inputs) == [False] + [True] * 8


def test_inference_mode(evaluated):
    model = Network().eval()
    with torch.inference_mode():
        torch.testing.assert_close(compiled(model)(X), model(X))
    assert len(evaluated) == 1


@torch.no_grad()
@pytest.mark.parametrize("mode, expected", [
    (None, "default"), ("reduce-overhead", "reduce-overhead"), ("max-autotune", "max-autotune"),
    ("max-autotune-no-cudagraphs", "max-autotune")])
def test_mode_is_passed_on(evaluated, mode, expected):
    compiled(lambda x: x + 1, mode=mode)(X)
    assert evaluated[0][1].mode == expected


@torch.no_grad()
def test_options_are_passed_on(evaluated, warnings):
    compiled(lambda x: x + 1, options={"verify": True, "numerics": "fast", "speed": 11})(X)
    assert evaluated[0][1] == backend.Options("default", "fast", True)
    assert warnings == ["option 'speed' is unknown and ignored."]


@torch.no_grad()
def test_operator_without_rule_is_named_once(evaluated, warnings, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(backend, "_executable", lambda s, o, r: EvaluatedSegment(s))
    monkeypatch.setattr("stoker.log._said", set())
    before = stoker.fallback_ops().get("aten._fft_r2c.default", 0)
    function = compiled(lambda x: (torch.fft.rfft(x * 2).abs() + 1, torch.fft.rfft(x).abs()))
    for size in (8, 6):
        x = torch.randn(2, size)
        torch.testing.assert_close(
            function(x), (torch.fft.rfft(x * 2).abs() + 1, torch.fft.rfft(x).abs()))
    assert stoker.fallback_ops()["aten._fft_r2c.default"] == before + 2
    assert len([message for message in warnings if "_fft_r2c" in message]) == 1


# ---- Aliasing and mutation ------------------------------------------------------------------------


@torch.no_grad()
def test_input_mutation_is_seen():
    def function(x):
        x.add_(1)
        return x * 2

    x, y = torch.ones(3), torch.ones(3)
    torch.testing.assert_close(compiled(function)(x), function(y))
    torch.testing.assert_close(x, y)


@torch.no_grad()
def test_buffer_mutation_is_seen():
    model, twin = Network().train(), Network().train()
    run = compiled(model)
    for _ in range(2):
        torch.testing.assert_close(run(X), twin(X))
    torch.testing.assert_close(model.norm.running_var, twin.norm.running_var)
    assert model.norm.num_batches_tracked == 2


@torch.no_grad()
def test_output_that_views_an_input_aliases_it():
    x = torch.zeros(3, 4)
    view, result = compiled(lambda x: (x.t(), x + 1))(x)
    x.fill_(7)
    assert view[0, 0] == 7 and result[0, 0] == 1


@torch.no_grad()
def test_outputs_that_alias_each_other_still_do():
    def function(x):
        y = x + 1
        return y, y[0]

    y, row = compiled(function)(torch.zeros(3, 4))
    y.fill_(7)
    assert row[0] == 7


# ---- Sizes ----------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [None, True])
def test_new_sizes_compile_again(evaluated, dynamic):
    function = compiled(lambda x: x.softmax(-1) * x.shape[0], dynamic=dynamic)
    for rows in (3, 5, 3, 5, 2):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(function(x), x.softmax(-1) * rows)
    assert len(evaluated) == 3
    assert all("s" not in segment.text.split("(")[1].split("]")[0] for segment, _ in evaluated)


# ---- Training -------------------------------------------------------------------------------------


def test_training_gives_the_same_gradients(evaluated):
    model, twin = Network().train(), Network().train()
    compiled(model)(X).square().sum().backward()
    twin(X).square().sum().backward()
    for one, other in zip(model.parameters(), twin.parameters()):
        torch.testing.assert_close(one.grad, other.grad)
    assert len(evaluated) >= 2  # Forward and backward.
    assert not any(source.parameter for segment, _ in evaluated for source in segment.inputs)


# ---- Failures -------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("error", [StokerError(5, "no daemon"), RuntimeError("a bug")])
def test_failed_compile_runs_in_eager(monkeypatch, warnings, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(backend, "_executable", fail)
    model = Network().eval()
    torch.testing.assert_close(compiled(model)(X), model(X))
    assert len(warnings) == 1 and str(error.args[0]) in warnings[0]


@torch.no_grad()
def test_failed_run_changes_to_eager(monkeypatch, warnings):
    calls = []

    def fail(slots):
        calls.append(slots)
        raise StokerError(9, "a bug")

    monkeypatch.setattr(backend, "_executable", lambda *_: fail)
    model = Network().eval()
    run = compiled(model)
    for _ in range(3):
        torch.testing.assert_close(run(X), model(X))
    assert len(calls) == 1 and len(warnings) == 1


@torch.no_grad()
def test_bug_in_a_rule_runs_in_eager(monkeypatch, warnings):
    def broken(g, out, x):
        raise AssertionError("broken")

    monkeypatch.setitem(backend.lower.__globals__["RULES"], "aten.relu.default", broken)
    torch.testing.assert_close(compiled(lambda x: x.relu() + 1)(X), X.relu() + 1)
    assert len(warnings) == 1 and "bug" in warnings[0]


def test_users_own_errors_stay_theirs():
    with pytest.raises(Exception, match="mine"):
        def function(x):
            raise ValueError("mine")

        compiled(function)(X)


def test_checking_parameters_is_cheap():
    """Two orders of magnitude below a small model's step, however loaded the machine is."""
    import timeit

    parameters = tuple(torch.nn.Parameter(torch.randn(64, 64)) for _ in range(150))
    with torch.no_grad():
        stamp = binding.Stamp(parameters)
        best = min(timeit.repeat(lambda: stamp.fits(parameters), number=20, repeat=20)) / 20
    assert best < 1e-3, best
