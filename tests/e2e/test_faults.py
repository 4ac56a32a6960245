"""Processes killed in the middle of a compile, and damaged files: the job ends right, the cache is sound."""

import os
import signal

import pytest
from e2e.processes import HeldWorkers, wait_for


def start_and_hold(site, model):
    """A job whose compile is under way and stays so, and the workers to release."""
    workers = HeldWorkers(site.daemon_pid())
    job = site.start(model)
    wait_for(lambda: site.status()["queue"]["running"])
    return job, workers


def assert_sound(site, model):
    """The next job is right, and the one after it finds everything stored."""
    assert site.run(model)["error"] <= 1e-5
    again = site.run(model)
    assert again["error"] <= 1e-5
    assert set(again["last"]["sources"]) <= {"memory", "disk"}


def test_worker_killed_in_a_compile(site):
    site.run("mlp")
    daemon = site.daemon_pid()
    job, workers = start_and_hold(site, "gpt2")
    for worker in workers.pids:
        os.kill(worker, signal.SIGKILL)
    assert site.finish(job)["error"] <= 1e-5
    assert site.daemon_pid() == daemon
    assert_sound(site, "gpt2")


def test_client_killed_in_a_compile(site):
    site.run("mlp")
    daemon = site.daemon_pid()
    job, workers = start_and_hold(site, "gpt2")
    job.kill()
    job.communicate()
    workers.release()
    assert_sound(site, "gpt2")
    assert site.daemon_pid() == daemon


def test_daemon_killed_in_a_compile(site):
    site.run("mlp")
    job, workers = start_and_hold(site, "gpt2")
    os.kill(site.daemon_pid(), signal.SIGKILL)
    workers.release()
    assert site.finish(job)["error"] <= 1e-5
    assert_sound(site, "gpt2")


def database_files(site):
    return [
        path for path in (site.cache / "store").rglob("*")
        if path.suffix in (".sst", ".blob", ".log") and path.stat().st_size > 256]


def flip(path):
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 4, len(data), max(1, len(data) // 16)):
        data[place] ^= 0x5A
    path.write_bytes(data)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flip, truncate], ids=["flipped", "truncated"])
def test_damaged_files(site, damage):
    site.run("mlp")
    site.stop()
    files = database_files(site)
    assert files
    for path in files:
        damage(path)
    assert_sound(site, "mlp")
