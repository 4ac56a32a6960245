"""A PyTorch that Stoker was not tested with: facts decide what is off, one line says it, and results are right."""

import json
import pathlib
import subprocess
import sys

import pytest
from e2e import forked
from e2e.changed_pytorch import ChangedPyTorch
from e2e.processes import wait_for
from e2e.test_warm import JOB, TOLERANCE

VERSION = "2.99.0"
CASES = ("mlp", "two_functions", "dynamic_of_6", "aliased_outputs")
STARTS = len(CASES) + 1  # two_functions has two.
AUDITS = 3


@pytest.fixture
def changed(tmp_path):
    return ChangedPyTorch(tmp_path / "pytorch", VERSION)


@pytest.fixture
def fork(site, changed, tmp_path):
    """Has all that a test changes in PyTorch loaded by one process; gives what its forks are started with."""
    made = []

    def make():
        folder = tmp_path / "forked"
        folder.mkdir()
        made.append(forked.Servers(folder, changed.env(site.env), 1))
        return made[-1].python

    yield make
    for each in made:
        each.end()


def start(site, changed, *cases, job=JOB.name, python=sys.executable, **env):
    """(result, Stoker's lines) of one process."""
    done = subprocess.run(
        [python, str(pathlib.Path(JOB).with_name(job)), *(cases or CASES)],
        env={**changed.env(site.env), "STOKER_CAPTURES": "", **env}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    for name, row in result.items() if job == JOB.name else ():
        assert row["error"] <= TOLERANCE and row["repeats"] <= TOLERANCE, name
    return result, [line for line in done.stderr.splitlines() if VERSION in line]


def last(result):
    return list(result.values())[-1]


def test_a_version_that_passes_its_trial_starts_warm_after_audits(site, changed, fork):
    python = fork()
    result, lines = start(site, changed, python=python)
    assert not lines  # What it recorded is stored when its trial is over, at its end.
    for _ in range(AUDITS):
        result, lines = start(site, changed, python=python)
        counted = last(result)["stoker"]
        assert counted["captures.audited"] == counted["captures.miss.audit"] == STARTS, counted
        assert "captures.hit" not in counted and not lines
    result, lines = start(site, changed)
    assert last(result)["torch"] == {} and not lines
    assert last(result)["stoker"]["captures.hit"] == STARTS
    assert site.stats()["captures"]["audited"] == AUDITS * STARTS
    assert site.stats()["captures"]["differing"] == 0


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


def test_sizes_that_change_raise_no_false_alarm(site, changed, fork):
    """A trace of one size and a capture of all sizes are both right."""
    python = fork()
    for _ in range(2):
        result, lines = start(site, changed, "dynamic_of_6", "dynamic_of_8", python=python)
    result, lines = start(site, changed, "dynamic_of_8", "dynamic_of_6", python=python)
    assert not lines and site.stats()["captures"]["differing"] == 0


def test_a_version_that_is_too_old_has_no_captures(site, changed):
    changed.replace("version.py", VERSION, "2.10.1")
    done = subprocess.run(
        [sys.executable, str(JOB), "mlp"], env={**changed.env(site.env), "STOKER_CAPTURES": ""}, capture_output=True, text=True,
        timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "captures are off" in line]
    assert len(lines) == 1 and "it is older than 2.11" in lines[0]


def test_stoker_compile_waits_for_the_verdict_too(site, changed, fork):
    # What the last one imports is asked.
    for python in (*[fork()] * (1 + AUDITS), sys.executable):
        result, lines = start(site, changed, "two_functions", job="direct_job.py", python=python)
        assert result["error"] <= TOLERANCE and not lines
    assert result["imported"] == []


def test_processes_that_start_together_share_one_trial(site, changed, fork):
    python = fork()
    env = {**changed.env(site.env), "STOKER_CAPTURES": "", "STOKER_LOG": "captures"}
    jobs = [
        site.keep(subprocess.Popen(
            [python, str(JOB), "two_functions"], env=env, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True))
        for _ in range(3)]
    trials = 0
    for job in jobs:
        out, err = job.communicate(timeout=600)
        assert job.returncode == 0, err
        assert json.loads(out.splitlines()[-1])["two_functions"]["error"] <= TOLERANCE
        trials += err.count("a trial of PyTorch")
    assert trials == 1


def test_a_job_that_just_ends_leaves_its_verdict_behind(site, changed):
    """Without what Python does at the end of a process: as after exec, a signal, or in a worker."""
    job = (
        "import os, torch, stoker\n"
        "compiled = torch.compile(lambda x: x.sin() + 1, backend='stoker')\n"
        "compiled(torch.ones(3))\n"
        "os._exit(0)\n")
    subprocess.run(
        [sys.executable, "-c", job], env={**changed.env(site.env), "STOKER_CAPTURES": ""}, check=True, timeout=600)
    wait_for(lambda: "a trial of PyTorch" in site.tool("ls", "--captures"))
    result, lines = start(site, changed, "two_functions", STOKER_LOG="captures")
    assert not any("a trial of" in line for line in lines)
    assert last(result)["stoker"]["captures.recorded"] == 2


def test_without_a_home_the_job_goes_on(site, changed):
    env = {**changed.env(site.env), "STOKER_CAPTURES": ""}
    changed.change("_dynamo/guards.py", lambda text: text + "# Edited.\n")  # The folder is the copy's own now.
    (changed.folder / "torch" / "_dynamo" / ".#guards.py").symlink_to("nobody@nowhere")
    for name in ("HOME", "XDG_CACHE_HOME"):
        env.pop(name, None)
    for script in ("direct_job.py", JOB.name):
        done = subprocess.run(
            [sys.executable, str(pathlib.Path(JOB).with_name(script)), "two_functions"], env=env,
            capture_output=True, text=True, timeout=600)
        assert done.returncode == 0 and "a bug" not in done.stderr, done.stderr
