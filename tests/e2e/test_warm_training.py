"""The second process that trains traces nothing, in either direction, and equals eager."""

import json
import pathlib
import subprocess
import sys

import pytest
from e2e import forked, stored_captures
from e2e import warm_training_cases as cases

JOB = pathlib.Path(__file__).with_name("warm_training_job.py")
TOLERANCE = 1e-5
OF_HALVES = 0.03  # Eager rounds to 16 bits after each operator.

KINDS = (
    "statistics", "images", "attention", "several_results", "views_of_results", "views_of_what_is_not_given",
    "views_of_inputs", "views_of_elements_that_are_one", "names_of_views", "inputs_in_place", "frozen", "tied", "without_a_gradient", "twice", "steps", "many_steps",
    "gradients_that_lie_otherwise", "channels_last", "autocast_inside", "autocast_around", "some_results_unused",
    "own_function", "checkpointed", "graph_break", "graph_break_in_a_closure", "hooks",
    "batches_of_gradients", "nothing", "halves", "numbers")
REFUSED = ("gradient_of_a_gradient", "twice_without_keeping", "saved_and_changed", "deterministic_later")
OF_A_MOMENT = ("precision_between", "tangents_of_gradients", "without_memory")
OF_PYTORCHS_CLASSES = ("images", "attention", "tied", "channels_last", "autocast_around", "hooks")  # Dynamo wraps these.
BREAKING = ("graph_break", "graph_break_in_a_closure")
WITH_THE_COMPILER = ("numbers", "checkpointed", "many_steps")  # Sizes, and parts of PyTorch that load it themselves.


def start(site, *names, python=None, **variables):
    done = subprocess.run(
        [python or forked.python(), str(JOB), *names], env=site.env | variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    for name, each in result["starts"].items():
        tolerance = OF_HALVES if name == "halves" or name.startswith("autocast") else TOLERANCE
        assert each["leaves"][0] == each["leaves"][1], name
        assert each["error"] <= tolerance and each["repeats"] <= tolerance, (name, each)
    return result


def assert_warm(result, compiles=0):
    """No frame traced, no AOTAutograd trace, no compile, no fallback, no warning."""
    last = list(result["starts"].values())[-1]
    assert last["torch"] == {} and last["compiles"] == compiles and last["fallbacks"] == {}
    assert set(last["stoker"]) <= {"graphs", "captures.hit", "bindings"}, last["stoker"]
    assert result["warnings"] == []


@pytest.mark.parametrize("names", [KINDS, REFUSED, OF_A_MOMENT], ids=["kinds", "refused", "of_a_moment"])
def test_second_process_of_every_kind_of_training_traces_nothing(site, names):
    assert all(hasattr(cases, name) for name in names)
    cold, warm = start(site, *names), start(site, *names)
    assert cold["warnings"] == []
    assert_warm(warm, compiles=int("precision_between" in names and other_precision(warm)))
    for name in names:
        assert warm["starts"][name]["found"] == cold["starts"][name]["found"], name


def test_what_is_drawn_is_the_same_in_every_process(site):
    cold, warm = (start(site, "drawn")["starts"]["drawn"] for _ in range(2))
    assert warm["torch"] == {} and warm["compiles"] == 0
    assert warm["found"] == cold["found"]


def other_precision(result):
    """Is there code for products that may lose more? Where a processor has none, a precision makes another key all the same."""
    return result["starts"]["precision_between"]["compiles"] > 0


def test_a_loop_is_trained_without_a_trace(site):
    start(site, "recurrent")
    warm = start(site, "recurrent")
    found = warm["starts"]["recurrent"]
    assert found["stoker"]["captures.hit"] == 1 and found["compiles"] == 0 and warm["warnings"] == []
    assert "frames" not in found["torch"]  # PyTorch's own scan, in eager, traces its step.


def test_a_gradient_inside_of_what_is_compiled(site):
    """PyTorch 2.11 traces the frame around the gradient in every process, and compiles nothing of it."""
    start(site, "gradient_inside")
    warm = start(site, "gradient_inside")
    found = warm["starts"]["gradient_inside"]
    assert found["stoker"]["captures.hit"] >= 2 and found["compiles"] == 0 and warm["warnings"] == []
    assert found["torch"].get("frames", {}).get("total", 0) <= 1


def test_stoker_compile_trains_without_the_compiler(site):
    names = [name for name in KINDS if name not in (*BREAKING, *OF_PYTORCHS_CLASSES, *WITH_THE_COMPILER)]
    start(site, *names)
    warm = start(site, "--directly", *names, python=sys.executable)
    assert_warm(warm)
    assert not warm["dynamo"]


def test_one_capture_trains_with_all_sizes(site):
    start(site, "sized_of_6")
    assert_warm(start(site, "sized_of_9", "sized_of_6"))


def test_a_backward_pass_that_nobody_has_run_is_compiled_from_the_graph(site):
    start(site, "without_a_backward_pass")
    capture, = (entry["key"] for entry in json.loads(site.tool("ls", "--captures", "--json")))
    _, backward = site.tool("inspect", capture).split("==== backward graph ====\n")
    assert 'eager  {"op":"aten.sin.default"}' in backward
    assert_warm(start(site, "without_a_backward_pass"))
    assert_warm(start(site, "with_a_backward_pass"), compiles=1)
    assert_warm(start(site, "with_a_backward_pass"))


def test_what_was_compiled_for_a_backward_pass_is_gone(site):
    start(site, "twice")
    listed = json.loads(site.tool("ls", "--captures", "--json"))
    beside, = (entry["key"] for entry in listed if entry["label"].startswith("graph "))
    stored_captures.replace(site, {beside: []})
    assert_warm(start(site, "twice"), compiles=1)
    assert_warm(start(site, "twice"))


def test_another_backward_pass_of_the_programs_is_traced(site):
    start(site, "own_gradient_of_3")
    changed = start(site, "own_gradient_of_4")["starts"]["own_gradient_of_4"]
    assert changed["torch"] != {} and "captures.hit" not in changed["stoker"]
    assert_warm(start(site, "own_gradient_of_4"))
    assert_warm(start(site, "own_gradient_of_3"))


def test_a_backward_pass_that_is_traced_otherwise_is_traced(site):
    floats = start(site, "backward_pass_in_floats")
    for _ in range(2):
        halves = start(site, "backward_pass_in_halves")["starts"]["backward_pass_in_halves"]
        assert halves["found"] != floats["starts"]["backward_pass_in_floats"]["found"]
    assert halves["torch"] == {} and halves["stoker"]["captures.hit"] == 1
    assert_warm(start(site, "backward_pass_in_floats"))


def test_pytorchs_compiler_of_backward_passes_gets_on(site):
    for _ in range(2):
        found = start(site, "compiled_backward_pass")
        assert found["warnings"] == []
    assert found["starts"]["compiled_backward_pass"]["stoker"]["captures.hit"] > 0


@pytest.mark.parametrize("name, reason", [
    ("own_operator", "a graph for training with an operator that PyTorch does not bring, stoker_tests.scaled"),
    ("checkpointed_by_policy", "a checkpoint with a context of the program's")])
def test_what_may_run_the_programs_code_while_gradients_are_traced_stays_local(site, name, reason):
    for _ in range(2):
        counted = start(site, name)["starts"][name]["stoker"]
        assert [each for each in counted if each.startswith("captures.local")] == [f"captures.local.{reason}"]


def test_a_backward_pass_that_fails_runs_in_eager(site):
    start(site, "with_a_backward_pass")
    for _ in range(2):
        failing = start(site, "failing_backward_pass")
        assert failing["starts"]["failing_backward_pass"]["torch"] == {}
        warning, = failing["warnings"]
        assert "a captured graph failed and runs in eager from now on: resource exhausted: no memory for a test" in warning
    assert_warm(start(site, "with_a_backward_pass"))
