"""A PyTorch that Stoker was not tested with, in which all is as it was: a trial and audits come before warm starts.

All tests ask one process that has loaded it for others.
"""

import json
import os
import subprocess
import sys

import pytest
from e2e import forked
from e2e.conftest import ROOT
from e2e.changed_pytorch import ChangedPyTorch
from e2e.processes import wait_for
from e2e.test_unknown_pytorch import CASES, VERSION, environment, last, start
from e2e.test_warm import JOB, TOLERANCE

pytestmark = pytest.mark.together
STARTS = len(CASES) + 1  # two_functions has two.
AUDITS = 3


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    return ChangedPyTorch(tmp_path_factory.mktemp("changed") / "pytorch", VERSION)


@pytest.fixture(scope="module")
def python(changed, tmp_path_factory):
    servers = forked.Servers(
        tmp_path_factory.mktemp("forked"), changed.env({**os.environ, "PYTHONPATH": str(ROOT / "client" / "python")}), 1)
    yield servers.python
    servers.end()


def test_a_version_that_passes_its_trial_starts_warm_after_audits(site, changed, python):
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


VERDICT = """
import json
from stoker.captures.trial import judge
print(json.dumps(judge.verdict()))
"""


@pytest.mark.parametrize("target", ["", "cpu/x86-64-v3"])
def test_every_feature_passes_its_trial_here(site, target):
    """As it is: its programs are right, and reach what they change, on any processor."""
    done = subprocess.run(
        [sys.executable, "-c", VERDICT], env={**site.env, "STOKER_CAPTURES": "trial", "STOKER_TARGET": target},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}


def test_sizes_that_change_raise_no_false_alarm(site, changed, python):
    """A trace of one size and a capture of all sizes are both right."""
    for _ in range(2):
        result, lines = start(site, changed, "dynamic_of_6", "dynamic_of_8", python=python)
    result, lines = start(site, changed, "dynamic_of_8", "dynamic_of_6", python=python)
    assert not lines and site.stats()["captures"]["differing"] == 0


def test_stoker_compile_waits_for_the_verdict_too(site, changed, python):
    # What the last one imports is asked.
    for interpreter in (*[python] * (1 + AUDITS), sys.executable):
        result, lines = start(site, changed, "two_functions", job="direct_job.py", python=interpreter)
        assert result["error"] <= TOLERANCE and not lines
    assert result["imported"] == []


def test_processes_that_start_together_share_one_trial(site, changed, python):
    env = environment(site, changed, STOKER_LOG="captures")
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


def test_a_job_that_just_ends_leaves_its_verdict_behind(site, changed, python):
    """Without what Python does at the end of a process: as after exec, a signal, or in a worker."""
    job = (
        "import os, torch, stoker\n"
        "compiled = torch.compile(lambda x: x.sin() + 1, backend='stoker')\n"
        "compiled(torch.ones(3))\n"
        "os._exit(0)\n")
    subprocess.run(
        [python, "-c", job], env=environment(site, changed), check=True, timeout=600)
    wait_for(lambda: "a trial of PyTorch" in site.tool("ls", "--captures"))
    result, lines = start(site, changed, "two_functions", python=python, STOKER_LOG="captures")
    assert not any("a trial of" in line for line in lines)
    assert last(result)["stoker"]["captures.recorded"] == 2
