"""A PyTorch that Stoker was not tested with: facts decide what is off, one line says it, and results are right."""

import json
import pathlib
import subprocess
import sys

import pytest
from e2e.changed_pytorch import ChangedPyTorch
from e2e.test_warm import JOB, TOLERANCE

VERSION = "2.99.0"
CASES = ("mlp", "two_functions", "dynamic_of_6", "aliased_outputs")
STARTS = len(CASES) + 1  # two_functions has two.


@pytest.fixture
def changed(tmp_path):
    return ChangedPyTorch(tmp_path / "pytorch", VERSION)


def environment(site, changed, **more):
    return {**changed.env(site.env), "STOKER_CAPTURES": "", **more}


def start(site, changed, *cases, job=JOB.name, python=sys.executable, **env):
    """(result, Stoker's lines) of one process."""
    done = subprocess.run(
        [python, str(pathlib.Path(JOB).with_name(job)), *(cases or CASES)],
        env=environment(site, changed, **env), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    for name, row in result.items() if job == JOB.name else ():
        assert row["error"] <= TOLERANCE and row["repeats"] <= TOLERANCE, name
    return result, [line for line in done.stderr.splitlines() if VERSION in line]


def last(result):
    return list(result.values())[-1]


def test_a_name_that_is_not_there_turns_captures_off(site, changed):
    changed.rename("has_tensor_in_frame", "has_tensor_in_this_frame", "_dynamo")
    for _ in range(2):
        result, lines = start(site, changed)
        assert len(lines) == 1 and "captures are off" in lines[0], lines
        assert "torch._dynamo.convert_frame.has_tensor_in_frame is not there" in lines[0]
        counted = last(result)["stoker"]
        assert counted["graphs"] >= STARTS and not any("captures" in name for name in counted)


def test_a_signature_that_changed_turns_its_feature_off_alone(site, changed):
    # dynamo's own callers say the new argument.
    changed.replace(
        "_dynamo/utils.py", "def flatten_graph_inputs(\n", "def flatten_graph_inputs(\n    reason: str,\n")
    changed.replace(
        "_dynamo/backends/common.py", "return flatten_graph_inputs(\n", "return flatten_graph_inputs(\n'',\n")
    result, lines = start(site, changed)
    assert len(lines) == 1 and "functional graphs are off" in lines[0], lines
    assert "flatten_graph_inputs does not take (gm, inputs, compile_gm)" in lines[0]
    assert last(result)["fallbacks"] == {}
    result, lines = start(site, changed)
    assert len(lines) == 1 and last(result)["stoker"]["captures.audited"] == STARTS


def test_what_behaves_otherwise_is_found_by_the_trial(site, changed):
    """Every name is there; a guard that Dynamo always made is not made any more."""
    made = "    def DICT_NOT_CONTAINS(self, guard: Guard, key: str) -> None:\n"
    changed.replace("_dynamo/guards.py", made, f"{made}        return\n")
    changed.replace(
        "_dynamo/variables/dicts.py", "GuardBuilder.DICT_NOT_CONTAINS", "GuardBuilder.DICT_CONTAINS")
    result, lines = start(site, changed)
    assert len(lines) == 1 and "captures are off" in lines[0] and "trial" in lines[0], lines
    assert "captures.hit" not in last(result)["stoker"]


def test_captures_of_one_installation_are_not_served_to_another(site, changed, tmp_path):
    """Of the same version: what traces differs."""
    def job(pytorch):
        result, _ = start(site, pytorch, "two_functions", STOKER_CAPTURES="trial")
        return last(result)["stoker"]

    assert job(changed)["captures.recorded"] == 2
    other = ChangedPyTorch(tmp_path / "other", VERSION)
    other.change("_dynamo/variables/dicts.py", lambda text: text + "\n# Otherwise.\n")
    assert job(other)["captures.recorded"] == 2
    assert job(changed)["captures.hit"] == job(other)["captures.hit"] == 2


def test_a_version_that_is_too_old_has_no_captures(site, changed):
    changed.replace("version.py", VERSION, "2.10.1")
    done = subprocess.run(
        [sys.executable, str(JOB), "mlp"], env=environment(site, changed), capture_output=True, text=True,
        timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "captures are off" in line]
    assert len(lines) == 1 and "it is older than 2.11" in lines[0]


def test_without_a_home_the_job_goes_on(site, changed):
    env = environment(site, changed)
    changed.change("_dynamo/guards.py", lambda text: text + "# Edited.\n")  # The folder is the copy's own now.
    (changed.folder / "torch" / "_dynamo" / ".#guards.py").symlink_to("nobody@nowhere")
    for name in ("HOME", "XDG_CACHE_HOME"):
        env.pop(name, None)
    for script in ("direct_job.py", JOB.name):
        done = subprocess.run(
            [sys.executable, str(pathlib.Path(JOB).with_name(script)), "two_functions"], env=env,
            capture_output=True, text=True, timeout=600)
        assert done.returncode == 0 and "a bug" not in done.stderr, done.stderr
