"""The second process that steps an optimizer traces nothing, leaves what the first one left, bit for bit, and what eager leaves but for
rounding; or says why. What one process recorded of aliases serves no other ones."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked
from e2e import warm_optimizers_cases as cases

JOB = pathlib.Path(__file__).with_name("warm_optimizers_job.py")
TOLERANCE = 2e-4  # Where nearly nothing is divided by its root.

FUSED = ("sgd_fused", "adam_fused")  # PyTorch does not trace these.
EAGER = ("adam_foreach",)  # Its graph fails while PyTorch traces it on a CPU.
BREAKING = ("adafactor",)  # A graph for each part of a step.
PLAIN = tuple(name for name in cases.OPTIMIZERS if name not in (*FUSED, *EAGER, *BREAKING))
# Frames in which Dynamo finds nothing to compile have no capture.
WITH_A_FRAME_OF_NOTHING = ("whole", "closure", "averaged")
WARM = tuple(way for way in cases.WAYS if way not in ("hooked", "hooked_later", "own_class", "differentiable", *WITH_A_FRAME_OF_NOTHING))


def start(site, *names, directly=False):
    done = subprocess.run(
        [forked.python(), str(JOB), *["--directly"][:directly], *names], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    for name, each in result["starts"].items():
        assert each["error"] <= TOLERANCE, (name, each)
    assert result["alive"] == 0
    assert result["globals"] == [], "something of an installation outlives its optimizer"
    return result


def assert_warm(result):
    assert result["torch"] == {} or set(result["torch"]) <= {"graph_break"}, result["torch"]
    assert [text for text in result["warnings"] if not text.endswith("it has no mapping.")] == []
    for name, each in result["starts"].items():
        assert each["stoker"].get("captures.hit"), name
        assert set(each["stoker"]) <= {"graphs", "captures.hit", "bindings"}, (name, each["stoker"])


def assert_same(first, second):
    for name, each in first["starts"].items():
        assert second["starts"][name]["digest"] == each["digest"], name


def test_every_optimizer_of_pytorchs_starts_warm(site):
    names = [f"steps:{name}" for name in PLAIN]
    cold, warm = start(site, *names), start(site, *names)
    assert_warm(warm)
    assert_same(cold, warm)


@pytest.mark.parametrize("optimizer", ["sgd_momentum", "adamw"])
def test_in_every_way(site, optimizer):
    names = [f"{way}:{optimizer}" for way in WARM]
    cold, warm = start(site, *names), start(site, *names)
    assert_warm(warm)
    assert_same(cold, warm)


def test_frames_of_nothing_alone_are_traced(site):
    names = [f"{way}:adam" for way in WITH_A_FRAME_OF_NOTHING]
    cold, warm = start(site, *names), start(site, *names)
    assert_same(cold, warm)
    for name, each in warm["starts"].items():
        assert each["stoker"]["captures.hit"] >= 2, name
        of_nothing = each["stoker"].get("captures.local.a frame of which Dynamo compiles nothing", 0)
        assert each["stoker"].get("captures.miss.no capture", 0) == of_nothing <= 2, name  # Two up to PyTorch 2.11.
        assert "captures.recorded" not in each["stoker"]


def test_what_pytorch_does_not_trace_and_what_breaks_equals_eager(site):
    names = [f"steps:{name}" for name in (*FUSED, *EAGER, *BREAKING)]
    assert_same(start(site, *names), start(site, *names))


@pytest.mark.parametrize("way, reason", [
    ("hooked", "an optimizer with hooks"), ("hooked_later", "an optimizer with hooks"),
    ("differentiable", "a graph for training that holds tensors"),
    ("own_class", "an optimizer that is not as PyTorch has it, Halving")])
def test_stays_local(site, way, reason):
    for _ in range(2):
        found = start(site, f"{way}:sgd_momentum")["starts"][f"{way}:sgd_momentum"]["stoker"]
        assert found[f"captures.local.{reason}"]


def test_through_stoker_compile(site):
    names = [f"{way}:adam" for way in ("steps", "function", "alternately", "alias_later")]
    _, warm = start(site, *names), start(site, *names, directly=True)
    assert warm["torch"] == {} or set(warm["torch"]) <= {"graph_break"}


ALIASED = [
    (alias, optimizer) for alias, optimizer in (
        ("one_gradient", "sgd"), ("one_gradient", "adam"), ("one_state", "sgd_momentum"), ("one_state", "adam"),
        ("two_states_of_one", "adam"), ("state_is_gradient", "sgd_momentum"), ("shared_memory", "sgd_momentum"),
        ("one_parameter_in_two", "sgd_momentum"))]


@pytest.mark.parametrize("recorded, asked", [("one", "two"), ("two", "one")])
def test_aliases_of_one_process_serve_no_program_with_others(site, recorded, asked):
    first, second = ([f"{alias}:{optimizer}:{how}" for alias, optimizer in ALIASED] for how in (recorded, asked))
    alone = start(site, *second)
    site.tool("purge", "--all", check=False)
    start(site, *first)
    mixed, again = start(site, *second), start(site, *first, *second)
    assert_same(alone, mixed)
    assert_same(mixed, {"starts": {name: again["starts"][name] for name in second}})


def test_what_is_installed_goes_with_states_and_optimizers(site):
    job = JOB.with_name("optimizer_lives_job.py")
    for is_warm in (False, True):
        done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["loaded"][1] == result["loaded"][-1], "it grows with each load"
        assert result["twice"] == [0.5] * 4 + [0.75] * 4
        for name in ("let_go", "dropped"):
            for values in result[name]:
                assert values == pytest.approx([2.0] * 3 + [0.9] * 4, abs=1e-5), name
        assert not is_warm or result["counters"]["captures.hit"] > 5


def test_drawn_programs(site):
    names = [f"fuzz:{seed}" for seed in range(12)]
    cold, warm = start(site, *names), start(site, *reversed(names))
    third = start(site, *names)
    assert_same(cold, warm)
    assert_same(cold, third)
