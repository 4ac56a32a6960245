"""No daemon, or none any more: the job runs on in eager PyTorch, with one warning."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

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


def test_slow_daemon_is_waited_for_once_and_taken_back(site, tmp_path):
    daemon = Daemon(tmp_path)
    try:
        site.env.update(STOKER_URL=daemon.url, STOKER_ANSWER_TIMEOUT_MS="1000")
        daemon.process.send_signal(signal.SIGSTOP)  # Connections are made, and nothing is answered.
        results = site.run("mlp,resnet")
        warnings = [warning for result in results.values() for warning in result["warnings"]]
        assert len(warnings) == 1 and "is not answered within 1000 ms." in warnings[0], warnings
        for result in results.values():
            assert result["error"] <= 1e-5 and result["last"] is None
        daemon.process.send_signal(signal.SIGCONT)
        site.env["STOKER_ANSWER_TIMEOUT_MS"] = "300000"
        assert site.run("mlp")["warnings"] == []
    finally:
        daemon.process.kill()
        daemon.process.wait()


FIRST_CALL = """
import time, torch
model, x = torch.nn.Linear(8, 8), torch.ones(2, 8)
begin = time.monotonic()
with torch.no_grad():
    torch.compile(model, backend="stoker")(x)
print(time.monotonic() - begin)
"""


def test_daemon_of_ones_own_that_hangs_is_waited_for_once(site):
    def first_call_s(**env):
        done = subprocess.run(
            [forked.python(), "-c", FIRST_CALL], env=site.env | env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return float(done.stdout), done.stderr.splitlines()

    assert first_call_s()[1] == []
    pid = site.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        waits = {}
        for patience_s in (1, 6):
            waits[patience_s], said = first_call_s(STOKER_ANSWER_TIMEOUT_MS=str(1000 * patience_s))
            [line] = [line for line in said if "runs in eager" in line]
            assert f"is not answered within {1000 * patience_s} ms." in line
        assert 5 - 2 < waits[6] - waits[1] < 2 * 5 - 2, waits
    finally:
        os.kill(pid, signal.SIGCONT)
    assert first_call_s()[1] == []


def test_daemon_that_died_is_started_again(site):
    job = paused_job(site)
    kill_daemon(site)
    result = resume(site, job)
    assert result["same"] and result["error"] <= 1e-5
    assert result["warnings"] == [] and result["counters"]["graphs"] == 2
