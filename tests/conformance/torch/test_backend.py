"""torch.compile with the backend, the evaluator in place of compiled code: capture, parameters, aliasing,
mutation, sizes, training, and what happens when something fails."""

import logging
import threading

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import stoker
from lowered import EvaluatedSegment
from stoker import backend
from stoker.lowering import compiling
from stoker.lowering.uncompiled import later
from stoker.libstoker.library import StokerError
from stoker.runtime import binding


@pytest.fixture(autouse=True)
def evaluated(monkeypatch):
    """Counts the segments that were compiled, as (segment, options)."""
    torch._dynamo.reset()
    compiled = []

    def make(segment, options, *_):
        compiled.append((segment, options))
        return EvaluatedSegment(segment)

    monkeypatch.setattr(compiling, "_executable", make)
    monkeypatch.setattr(compiling, "_report", lambda fallbacks: None)
    return compiled


@pytest.fixture(autouse=True)
def no_graph_waits_for_a_daemon_beyond_its_test(monkeypatch):
    """It is tried again in the background: with what the next test has put in place, and where that looks for warnings."""
    for pause in ("FIRST_PAUSE_S", "LAST_PAUSE_S"):
        monkeypatch.setattr(later, pause, 0.01)
    yield
    with later._lock():
        later._waiting.clear()
    for thread in threading.enumerate():
        if thread.name == "stoker-later":
            thread.join()


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
    monkeypatch.setattr("stoker.base.log._said", set())
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
@pytest.mark.parametrize("mode, said", [
    (None, []), ("default", []), ("reduce-overhead", []), ("max-autotune", []),
    ("max-autotune-no-cudagraphs", []), ("faster", ["mode 'faster' is unknown and ignored."])])
def test_modes_of_pytorch_are_taken_and_change_no_artifact(evaluated, warnings, mode, said):
    compiled(lambda x: x + 1, mode=mode)(X)
    assert evaluated[0][1]._replace(replays=False) == compiling.Options()
    assert warnings == said


@torch.no_grad()
def test_options_are_passed_on(evaluated, warnings):
    compiled(lambda x: x + 1, options={"verify": True, "speed": 11})(X)
    assert evaluated[0][1] == compiling.Options(verify=True)
    assert warnings == ["option 'speed' is unknown and ignored."]


@torch.no_grad()
def test_options_that_are_no_dictionary_are_ignored(evaluated, warnings):
    x = torch.ones(3)
    assert torch.equal(compiled(lambda x: x + 1, options=[1])(x), x + 1)
    assert warnings == ["options [1] are no dictionary and are ignored."]
    assert len(evaluated) == 1


@torch.no_grad()
def test_operator_without_rule_is_named_once(evaluated, warnings, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(compiling, "_executable", lambda segment, *_: EvaluatedSegment(segment))
    monkeypatch.setattr("stoker.base.log._said", set())
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
@pytest.mark.parametrize("dynamic, compiles", [(None, 2), (True, 1)])
def test_sizes_that_vary_compile_once(evaluated, dynamic, compiles):
    """Without being told, Dynamo's first graph is of the first size alone, and then not used any more."""
    function = compiled(lambda x: x.softmax(-1) * x.shape[0], dynamic=dynamic)
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for rows in (3, 5, 3, *range(2, 22)):  # More sizes than Dynamo's recompile limit, which never comes up.
        x = torch.randn(rows, 4)
        torch.testing.assert_close(function(x), x.softmax(-1) * rows)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == before + compiles
    assert len(evaluated) == compiles


@torch.no_grad()
def test_marked_sizes_stay_dynamic(evaluated):
    function = compiled(lambda x: (x.view(2, -1).sum(1) + x.shape[0], x.shape[0], x[1:]))
    for rows in (4, 6, 4):
        x = torch.randn(rows, 4)
        torch._dynamo.mark_dynamic(x, 0)
        sums, number, rest = function(x)
        torch.testing.assert_close(sums, x.view(2, -1).sum(1) + rows)
        assert number == rows
        assert rest.data_ptr() == x[1:].data_ptr() and rest.shape == (rows - 1, 4)
    assert len(evaluated) == 1


@torch.no_grad()
def test_versions_of_a_graph_are_bounded(evaluated, monkeypatch):
    monkeypatch.setattr("stoker.runtime.sizes.MAX_VERSIONS", 2)
    monkeypatch.setattr("stoker.runtime.sizes.MAX_VALUES", 1)
    monkeypatch.setattr("stoker.runtime.sizes.MAX_PROGRAMS", 0)
    function = compiled(lambda x: x + x.shape[0], dynamic=True)
    for rows in (2, 3, 4, 4, 3, 2):  # 4 pushes 2 out.
        torch.testing.assert_close(function(torch.ones(rows, 4)), torch.ones(rows, 4) + rows)
    assert len(evaluated) == 4
    assert not any("s0" in segment.text for segment, _ in evaluated)


@torch.no_grad()
def test_strides_are_sizes_too(evaluated):
    function = compiled(lambda x: x * 2 + x.shape[1], dynamic=True)
    for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2], torch.randn(5, 7)):
        torch.testing.assert_close(function(x), x * 2 + x.shape[1])


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

    monkeypatch.setattr(compiling, "_executable", fail)
    model = Network().eval()
    torch.testing.assert_close(compiled(model)(X), model(X))
    assert len(warnings) == 1 and str(error.args[0]) in warnings[0]


@torch.no_grad()
def test_failed_run_changes_to_eager(monkeypatch, warnings):
    calls = []

    class Failing:
        def at(self, segment, symbols, _lets_go):
            return self

        def __call__(self, slots):
            calls.append(slots)
            raise StokerError(9, "a bug")

    monkeypatch.setattr(compiling, "_executable", lambda *_: Failing())
    model = Network().eval()
    run = compiled(model)
    for _ in range(3):
        torch.testing.assert_close(run(X), model(X))
    assert len(calls) == 1 and len(warnings) == 1


@torch.no_grad()
def test_bug_in_a_rule_runs_in_eager(monkeypatch, warnings):
    def broken(g, out, x):
        raise AssertionError("broken")

    monkeypatch.setitem(compiling.lower.__globals__["RULES"], "aten.relu.default", broken)
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


def test_backward_pass_may_be_repeated():
    function = compiled(lambda x, k: (x * x * k).exp().softmax(0))
    for k in (2, 3, 2.5):  # The second one is a symbol: the forward graph saves what is no input.
        x = torch.tensor([0.5, -1.0, 1.5], requires_grad=True)
        loss = (function(x, k) * torch.arange(3)).sum()
        loss.backward(retain_graph=True)
        first = x.grad.clone()
        loss.backward()
        torch.testing.assert_close(x.grad, 2 * first)


def test_an_input_whose_elements_are_one_is_changed_by_eager_alone(warnings):
    def run(x, y, places):
        y.index_fill_(0, places, 1.5)
        x.sub_(2)
        return x + 1

    def inputs():
        return torch.ones(3), torch.zeros(1, 3).expand(3, 3), torch.tensor([-1, 0])

    for dynamic in (False, True):
        torch._dynamo.reset()
        given, expected = inputs(), inputs()
        assert torch.equal(torch.compile(run, backend="stoker", dynamic=dynamic)(*given), run(*expected))
        assert all(map(torch.equal, given, expected))
    assert any("it changes an input with strides (0, 1), of which elements are one" in line for line in warnings)


OVERLAPPING = {
    "window": lambda: torch.arange(8.0).as_strided((4, 3), (1, 1)),
    "unfolded": lambda: torch.arange(8.0).unfold(0, 3, 1),
    "interleaved": lambda: torch.arange(20.0).as_strided((3, 3), (3, 2)),  # None of its elements are one.
}


def _set_row(x):
    x[0] = 5
    return x * 1


def _copy_over(x):
    x.copy_(torch.arange(float(x.numel())).view(x.shape))
    return x.sum()


def _change_twice(x):
    x[0].mul_(2)
    x[1:3, 0] += 10
    return x.sum(0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("change", [_set_row, _copy_over, _change_twice, lambda x: x.select(0, 1).fill_(9)])
@pytest.mark.parametrize("make", OVERLAPPING.values(), ids=OVERLAPPING)
def test_what_is_written_to_overlapping_elements_is_seen_in_all(make, change, dynamic):
    given, expected = make(), make()
    actual = torch.compile(change, backend="stoker", dynamic=dynamic)(given)
    torch.testing.assert_close(actual, change(expected), rtol=0, atol=0)
    assert torch.equal(given._base if given._is_view() else given, expected._base)


def _half_counted(x):
    return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x / 2), (0, x))


NUMBERS_OF_A_RUN = {
    "of a loop": lambda x: (x * 2, _half_counted(x)),
    "made of one of a loop": lambda x: (_half_counted(x)[0] + 1, x * 2),
    "whole": lambda x: (x * 2, x.sum().to(torch.int64).item()),
    "float": lambda x: (x * 2, x.sum().item()),
    "truth": lambda x: (x * 2, (x.sum() > 9).item()),
    "size": lambda x: (x * 2, torch.nonzero(x > 1).shape[0] + 1),
    "beside what lies otherwise": lambda x: (torch.xlogy(x.t(), x.t()), x.sum().to(torch.int64).item()),
    "of a loop beside what lies otherwise": lambda x: (torch.xlogy(x.t(), x.t()), _half_counted(x)),
}


@pytest.mark.parametrize("name", NUMBERS_OF_A_RUN)
@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def test_numbers_that_only_a_run_knows_are_given(evaluated, name):
    function = NUMBERS_OF_A_RUN[name]
    run = compiled(function)
    with torch.no_grad():
        for factor in (1, 2):
            x = torch.arange(6.0).reshape(2, 3) * factor
            made, wanted = torch.utils._pytree.tree_leaves(run(x)), torch.utils._pytree.tree_leaves(function(x))
            assert list(map(type, made)) == list(map(type, wanted))
            torch.testing.assert_close(made, wanted)
    assert evaluated


@pytest.mark.parametrize("scale", [float("inf"), 3e38, 1e30, -2.5, 0.0, float("nan"), 1e-30, 1e-39])
def test_products_are_scaled_after_their_sums_where_weights_would_not_bear_it(evaluated, scale):
    weight, x = torch.nn.Parameter(torch.randn(4, 4)), torch.full((3, 4), 0.01)
    with torch.no_grad():
        for function in (
                lambda x: (x @ weight) * scale, lambda x: (x @ weight + 1) * scale,
                lambda x: (x @ weight) / (scale or 1.0), lambda x: (x @ weight) * 1e7 * 1e7 * 1e7 * 1e7 * 1e7):
            torch.testing.assert_close(compiled(function)(x), function(x), rtol=1e-5, atol=0, equal_nan=True)
    assert evaluated
