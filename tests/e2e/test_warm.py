"""The second process runs without tracing anything again, and equals eager."""

import json
import pathlib
import subprocess
import sys

import pytest
from e2e import forked

JOB = pathlib.Path(__file__).with_name("warm_job.py")
TOLERANCE = 1e-5


def start(site, *cases, **variables):
    done = subprocess.run(
        [forked.python(), str(JOB), *cases], env=site.env | variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    for name, result in results.items():
        assert result["leaves"][0] == result["leaves"][1], name
        assert result["error"] <= TOLERANCE, (name, result)
        assert result["repeats"] <= TOLERANCE, (name, result)
    return results


def assert_warm(results, starts=None):
    """No frame traced, no AOTAutograd trace, no compile, no fallback: the whole counter lists."""
    last = list(results.values())[-1]
    assert last["torch"] == {}
    assert last["compiles"] == 0
    assert last["fallbacks"] == {}
    assert set(last["stoker"]) <= {"graphs", "captures.hit", "bindings"}, last["stoker"]
    if starts is not None:
        assert last["stoker"]["captures.hit"] == starts


def test_second_process_of_models_traces_nothing(site):
    models = ("mlp", "gpt2", "bert", "llama", "resnet", "vit", "llama_with_cache", "gpt2_with_cache")
    # Every process has a seed of hashes of its own, which two of forked.py may share.
    cold = start(site, *models, PYTHONHASHSEED="6")
    assert cold[models[-1]]["stoker"]["captures.recorded"] == len(models)
    before = site.stats()
    assert_warm(start(site, *models, PYTHONHASHSEED="7"), starts=len(models))
    after = site.stats()
    for name in ("compiles", "misses", "kernels", "compile_failures", "fallback_ops", "quarantined"):
        assert after[name] == before[name], name
    assert after["captures"] == {
        **before["captures"], "hits": before["captures"]["hits"] + len(models)}


def test_starts_are_named_after_what_the_program_compiled(site):
    program = (
        "import functools, torch, stoker\n"
        "class Own(torch.nn.Sequential): pass\n"
        "for function in (torch.nn.Sequential(torch.nn.Linear(4, 4)), Own(torch.nn.ReLU()), lambda x: x + 1,\n"
        "                 torch.nn.Linear(4, 4).forward):\n"
        "    with torch.no_grad(): torch.compile(function, backend='stoker')(torch.ones(4, 4))\n")
    done = subprocess.run(
        [forked.python(), "-c", program], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = site.tool("explain")
    for name in ("torch.nn.modules.container:Sequential.forward", "__main__:Own.forward", "__main__:<lambda>",
                 "torch.nn.modules.linear:Linear.forward"):
        assert name in said
    assert "wrap_inline" not in said


def test_a_program_in_which_nothing_is_compiled_keeps_no_other_one_from_it(site):
    """A container of PyTorch's, whose class says nothing of whether its graph breaks, in a program where it does and in another."""
    program = (
        "import sys, torch, stoker\n"
        "norm = torch.nn.BatchNorm1d(4, momentum=None if sys.argv[1:] else 0.1)\n"  # Without one it reads how many steps there were.
        "compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), norm), backend='stoker')\n"
        "with torch.no_grad(): compiled(torch.ones(3, 4)), compiled(torch.ones(3, 4))\n"
        "print(stoker.counters().get('graphs', 0), stoker.counters().get('captures.hit', 0))\n")
    said = [
        subprocess.run(
            [forked.python(), "-c", program, *options], env=site.env, capture_output=True, text=True, timeout=600).stdout.split()
        for options in (["breaks"], ["breaks"], [], [])]
    assert said == [["0", "0"], ["0", "0"], ["1", "0"], ["1", "1"]]


# What a frame may do besides calling one graph.
KINDS = (
    "keywords", "two_functions", "two_configurations", "batch_norm_training", "buffers",
    "inputs_in_place", "aliased_outputs", "structured_outputs", "graph_breaks",
    "nested_graph_breaks", "function_behind_a_break", "mode", "whole_graph")


@pytest.mark.parametrize("case, parts", [("dynamic", 0), ("all_dynamic", 1)])
def test_one_capture_serves_all_sizes_that_its_guards_allow(site, case, parts):
    """All of them with one program, but for a part of it, a view that takes even numbers alone."""
    cold = start(site, f"{case}_of_6")[f"{case}_of_6"]
    assert cold["stoker"]["captures.recorded"] == 1
    assert_warm(start(site, f"{case}_of_6"), starts=1)

    # Sizes that nobody met: no trace.
    new = start(site, f"{case}_of_8")[f"{case}_of_8"]
    assert new["torch"] == {}
    assert new["compiles"] == parts and new["fallbacks"] == cold["fallbacks"]
    assert new["stoker"]["captures.hit"] == 1
    assert_warm(start(site, f"{case}_of_8", f"{case}_of_6"), starts=2)
    listed = [entry["label"] for entry in json.loads(site.tool("ls", "--captures", "--json"))]
    assert sum(label.startswith("graph ") for label in listed) == 1 + 2 * parts  # Of each of two sizes.
    for entry in json.loads(site.tool("ls", "--captures", "--json")):
        assert "==== graph ====" in site.tool("inspect", entry["key"])


def test_sizes_that_the_guards_exclude_are_traced_again(site):
    start(site, "dynamic_of_6")
    result = start(site, "dynamic_of_20")["dynamic_of_20"]
    assert result["stoker"]["captures.miss.shape"] == 1
    assert result["stoker"]["captures.recorded"] == 1
    assert_warm(start(site, "dynamic_of_20", "dynamic_of_6"), starts=2)


def test_artifacts_of_other_sizes_fail_into_eager(site):
    start(site, "all_dynamic_of_6")
    done = subprocess.run(
        [forked.python(), str(JOB.with_name("fault_job.py")), "run_fails", "torch", "all_dynamic_of_6"],
        env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["error"] <= TOLERANCE and len(result["warnings"]) == 1


def test_second_process_of_every_kind_of_call_traces_nothing(site):
    start(site, *KINDS)
    assert_warm(start(site, *KINDS))
    listed = json.loads(site.tool("ls", "--captures", "--json"))
    assert {entry["kind"] for entry in listed} == {"capture"}
    assert "capture" not in {entry["kind"] for entry in json.loads(site.tool("ls", "--json"))}
    text = site.tool("inspect", next(
        entry["key"] for entry in listed if "_broken" in entry["label"]))
    assert "entry: warm_cases:" in text and "==== guards (" in text and "request key" in text
    assert " hit " in site.tool("explain")


def test_stoker_compile_imports_nothing_of_the_compiler(site):
    cases = (
        "keywords", "two_functions", "inputs_in_place", "aliased_outputs", "structured_outputs",
        "layers_in_a_loop")

    def run():
        done = subprocess.run(
            [sys.executable, str(JOB.with_name("direct_job.py")), *cases], env=site.env,
            capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["error"] <= TOLERANCE
        return result

    assert "torch._dynamo" in run()["imported"]
    warm = run()
    assert warm["imported"] == []
    assert set(warm["counters"]) <= {"graphs", "captures.hit", "bindings"}, warm


def job(site, name, *arguments):
    done = subprocess.run(
        [forked.python(), str(JOB.with_name(name)), *arguments], env=site.env, capture_output=True, text=True,
        timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_frame_that_dynamo_leaves_alone_is_said_to_be(site):
    program = "import torch, stoker\nprint(torch.compile(lambda x: 5, backend='stoker')(torch.ones(1)))\n"
    done = subprocess.run(
        [forked.python(), "-c", program], env=site.env | {"STOKER_LOG": "captures"}, capture_output=True, text=True,
        timeout=600)
    assert done.stdout == "5\n", done.stderr
    assert "a frame of which Dynamo compiles nothing" in done.stderr


def test_stoker_compile_finds_what_torch_compile_recorded(site):
    """Whatever torch.compile() leaves on modules and their class."""
    cases = ("two_functions", "gpt2", "resnet")
    start(site, *cases)
    counters = job(site, "direct_job.py", *cases)["counters"]
    assert counters["captures.hit"] == len(cases) + 1
    assert not [name for name in counters if "miss" in name or "recorded" in name], counters


def test_a_capture_is_stored_when_pytorch_has_taken_a_call(site):
    program = (
        "import sys, torch, stoker\n"
        "def spread(x, counts): return torch.repeat_interleave(x + 1, counts, output_size=6) * 2\n"
        "compiled, x = torch.compile(spread, backend='stoker'), torch.arange(3.0)\n"
        "for counts in map(eval, sys.argv[1:]):\n"
        "    counts = torch.tensor(counts)\n"
        "    try: assert torch.equal(compiled(x, counts), spread(x, counts))\n"
        "    except RuntimeError: print('refused')\n"
        "print(sorted(name for name in stoker.counters() if name.startswith('captures')))\n")

    def said(*counts):
        done = subprocess.run(
            [forked.python(), "-c", program, *counts], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    bad, good = "[1, 1, 1]", "[1, 2, 3]"
    assert said(bad, bad) == ["refused", "refused", "['captures.miss.no capture']"]
    assert said(bad, good, good) == ["refused", "['captures.miss.no capture', 'captures.recorded']"]
    assert said(good, good) == ["['captures.hit']"]


def test_what_becomes_another_function_between_calls_is_seen(site):
    for _ in range(2):
        result = job(site, "redefined_job.py")
        assert result["wrong"] == []
    assert result["counters"]["captures.hit"] >= 8


@pytest.mark.parametrize("way", ["torch", "direct"])
def test_programs_of_the_same_operators_share_nothing_but_what_is_the_same(site, way):
    """A graph of symbolic sizes says neither of which types its inputs are nor what their other sizes are."""
    calls = [
        "product:float32:6", "product:float64:6", "total_and_rest:float32:4", "total_and_rest:float64:4",
        "total_and_rest:float32:9", "product:int64:6"]
    for call in (*calls, *calls):
        result = job(site, "sized_job.py", way, call)
        assert result["wrong"] == []
    assert result["counters"]["captures.hit"] == 1 and not result["counters"].get("graphs_eager")


@pytest.mark.parametrize("name", ["scaled", "inherited", "by_default"])
def test_numbers_that_classes_and_functions_hold_are_read_in_the_next_process(site, name):
    """Where sizes vary they are inputs of the graph, of which Dynamo's guards on sizes say what they are."""
    first = job(site, "sized_job.py", "torch", f"{name}:float32:6")
    assert first["wrong"] == [] and not any(key.startswith("captures.local") for key in first["counters"])
    second = job(site, "sized_job.py", "torch", f"{name}:float32:6")
    assert second["wrong"] == [] and second["counters"]["captures.hit"] == first["counters"]["captures.recorded"]
    assert "captures.recorded" not in second["counters"]


def test_a_forward_that_was_compiled_in_place_starts_warm(site):
    for outcome in ("captures.recorded", "captures.hit"):
        counters = job(site, "compiled_forward_job.py")
        assert counters[outcome] == 1, counters
    assert set(counters) == {"graphs", "captures.hit", "bindings"}


def test_results_are_views_of_what_eager_makes_them_views_of(site):
    program = """
import torch
def f(x):
    return x.detach(), x.detach()[1:], x[1:].detach(), x[1:], x.view(3, 1).detach().view(3), x * 2, (x * 2)[1:].detach()
def bases(results):
    return [None if y._base is None else y._base is x for y in results]
x = torch.ones(3)
print(bases(torch.compile(f, backend="stoker")(x)) == bases(f(x)))
"""
    for start in ("recorded", "hit"):
        done = subprocess.run(
            [forked.python(), "-c", program], env=site.env | {"STOKER_LOG": "captures"}, capture_output=True, text=True,
            timeout=600)
        assert done.stdout == "True\n" and f"stoker: {start}: " in done.stderr, done.stderr
