"""No daemon, or none any more: the job runs on in eager PyTorch, with one warning."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
from e2e import forked
from e2e.processes import Daemon, is_alive, wait_for


def no_program(site):
    site.env["STOKER_DAEMON"] = str(site.cache / "nothing" / "stokerd")


def failing_program(site):
    site.env["STOKER_DAEMON"] = shutil.which("false")


def nobody_at_the_url(site):
    site.env["STOKER_URL"] = f"unix:{site.cache}/nobody.sock"


def malformed_url(site):
    site.env["STOKER_URL"] = "gopher://somewhere"


def file_for_a_cache_folder(site):
    site.cache.write_text("")


def no_library(site):
    site.env["STOKER_LIBRARY"] = str(site.cache / "libstoker.so.0")


@pytest.mark.parametrize("setup", [
    no_program, failing_program, nobody_at_the_url, malformed_url, file_for_a_cache_folder, no_library])
def test_without_a_daemon_everything_runs_in_eager(site, setup):
    setup(site)
    results = site.run("mlp,resnet")
    warnings = [warning for result in results.values() for warning in result["warnings"]]
    assert len(warnings) == 1 and warnings[0].startswith("a graph runs in eager: "), warnings
    for result in results.values():
        assert result["error"] <= 1e-5
        assert result["graphs"] == 1 and result["last"] is None


NESTED = """
import torch

def scaled(x):
    return (x * 2).sin()

for _ in range(3):
    x = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], layout=torch.jagged)
    assert torch.equal(torch.compile(scaled, backend="stoker")(x).values(), scaled(x).values())
"""


def test_nested_tensors_run_in_eager_with_one_warning(site):
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", NESTED], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if "eager" in line or "Stoker" in line]
        assert len(said) == 1 and "a graph runs in eager: it is given a nested tensor" in said[0], done.stderr


@pytest.mark.parametrize("setup", [lambda site: None, no_program], ids=["daemon", "no daemon"])
def test_hooks_on_all_modules_see_no_graph(site, setup):
    setup(site)
    job = pathlib.Path(__file__).with_name("hooks_job.py")
    for _ in range(2):
        done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert max(result["errors"].values()) <= 1e-6, result
        assert result["seen"] == []


def kill_daemon(site):
    pid = site.daemon_pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid))


def paused_job(site):
    job = site.start("mlp", "--outlive")
    assert job.stdout.readline() == "paused\n"
    return job


def resume(site, job):
    job.stdin.write("\n")
    job.stdin.flush()
    return site.finish(job)


def test_job_outlives_a_daemon_that_cannot_come_back(site, tmp_path):
    program = tmp_path / "stokerd"
    program.symlink_to(site.env["STOKER_DAEMON"])
    site.env["STOKER_DAEMON"] = str(program)
    job = paused_job(site)
    program.unlink()
    kill_daemon(site)
    result = resume(site, job)
    assert result["same"] and result["error"] <= 1e-5
    assert len(result["warnings"]) == 1 and "runs in eager" in result["warnings"][0]
    assert result["counters"]["graphs"] == 1 and result["counters"]["graphs_eager"] == 1


@pytest.fixture
def named(site, tmp_path):
    """The process id of a daemon that a URL names."""
    daemon = Daemon(tmp_path)
    site.env["STOKER_URL"] = daemon.url
    yield daemon.process.pid
    daemon.process.kill()
    daemon.process.wait()


@pytest.fixture
def private(site):
    """The process id of the site's own daemon."""
    site.tool("stats")  # Starts it.
    pid = site.daemon_pid()
    yield pid
    os.kill(pid, signal.SIGCONT)  # It is stopped by asking.


@pytest.fixture(params=["named", "private"])
def running(request):
    return request.getfixturevalue(request.param)


def test_slow_daemon_is_waited_for_once_and_taken_back(site, running):
    timeout_s = 8  # Longer than all else that the first call of a small model does.
    site.env["STOKER_ANSWER_TIMEOUT_MS"] = str(timeout_s * 1000)
    os.kill(running, signal.SIGSTOP)  # Connections are made, and nothing is answered.
    results = site.run("mlp,resnet")
    warnings = [warning for result in results.values() for warning in result["warnings"]]
    assert len(warnings) == 1 and f"is not answered within {timeout_s * 1000} ms." in warnings[0], warnings
    for result in results.values():
        assert result["error"] <= 1e-5 and result["last"] is None
    assert results["mlp"]["first_call_s"] < 2 * timeout_s
    # Its own first call takes longer than the other's: did it wait, too, it would be the longer one of the two.
    assert results["resnet"]["first_call_s"] < results["mlp"]["first_call_s"]
    os.kill(running, signal.SIGCONT)
    site.env["STOKER_ANSWER_TIMEOUT_MS"] = "300000"
    assert site.run("mlp")["warnings"] == []


def test_a_graph_that_ran_in_eager_is_compiled_once_the_daemon_answers(site, running):
    site.env["STOKER_ANSWER_TIMEOUT_MS"] = "1000"
    os.kill(running, signal.SIGSTOP)
    job = site.keep(subprocess.Popen(
        [sys.executable, str(pathlib.Path(__file__).with_name("late_job.py")), "32"], env=site.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    assert job.stdout.readline() == "eager\n"
    os.kill(running, signal.SIGCONT)
    result = site.finish(job)
    assert result["in_eager"] == {"graphs_eager": 1}
    assert result["counters"]["graphs"] == 1 and result["runs"] == 1
    assert result["error"] <= 1e-5


def test_daemon_that_died_is_started_again(site):
    job = paused_job(site)
    kill_daemon(site)
    result = resume(site, job)
    assert result["same"] and result["error"] <= 1e-5
    assert result["warnings"] == [] and result["counters"]["graphs"] == 2
