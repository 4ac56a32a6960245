"""Operators that PyTorch runs inside a compiled plan, in the process that compiles and in one that starts warm."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


def run(site, scenario):
    job = pathlib.Path(__file__).with_name("host_calls_job.py")
    done = subprocess.run(
        [forked.python(), str(job), scenario], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] == [], result
    return result


def has_captures(site):
    return site.env.get("STOKER_CAPTURES", "on") == "on"


@pytest.mark.parametrize("scenario, operator", [
    ("matrix_exp", "aten.linalg_matrix_exp.default"), ("draws", "aten.poisson.default"),
    ("custom", "host_calls.tripled.default")])
def test_second_process_starts_warm_with_one_segment(site, scenario, operator):
    cold = run(site, scenario)
    assert cold["segments"] == 1
    assert operator in cold["fallbacks"]
    assert any(message.startswith(f"{operator} runs in eager PyTorch: ") for message in cold["warnings"])
    compiles = site.stats()["compiles"]
    warm = run(site, scenario)
    assert site.stats()["compiles"] == compiles
    assert warm["segments"] == 1 and warm["fallbacks"].keys() == cold["fallbacks"].keys()
    if has_captures(site):
        assert warm["counters"].get("captures.hit", 0) >= 1, warm
    for result in (cold, warm):
        assert "graphs_eager" not in result["counters"], result["warnings"]


def test_training_is_one_artifact_each_way(site):
    result = run(site, "training")
    assert result["segments"] == 1
    assert result["counters"]["graphs"] == 2 and "graphs_eager" not in result["counters"]


def test_operator_that_gives_another_dtype_than_was_traced_hands_the_graph_to_eager(site):
    for _ in range(2):
        result = run(site, "lying")
        assert any("as when it was traced" in message for message in result["warnings"]), result


def test_operator_may_call_what_it_is_called_from(site):
    result = run(site, "nested")
    assert result["segments"] == 1 and "graphs_eager" not in result["counters"], result["warnings"]


def test_operator_may_fork(site):
    result = run(site, "forks")
    assert result["segments"] == 1 and result["counters"]["artifacts_verified"] == 1, result["warnings"]


def test_artifact_that_names_no_operator_is_refused_and_runs_in_eager(site):
    result = run(site, "nonsense")
    assert any("'aten.no_such_operator.default' is no operator of this PyTorch" in message
               for message in result["warnings"]), result["warnings"]
    assert result["counters"]["graphs_eager"] >= 1
