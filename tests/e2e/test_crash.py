"""Kills, full and read-only disks: what was acknowledged stays, what is served is true."""

import hashlib
import os
import shutil
import subprocess
import time

import pytest
from e2e import crash
from e2e.processes import BUILD, Daemon

ROUNDS = int(os.environ.get("STOKER_CRASH_ROUNDS", "10"))


def test_kill_at_random_points_loses_nothing_and_leaves_nothing(tmp_path):
    state, violations = crash.rounds(ROUNDS, tmp_path)
    assert not violations
    assert state["damaged"] == state["databases_set_aside"] == state["unnamed"] == 0
    # Nothing is stored that nobody sent, and what is stored takes no multiple of its size.
    assert 0 < state["stored"] <= state["sent"]
    assert state["file_bytes"] < 2 * state["stored_bytes"] + (256 << 20)


def put(daemon, body):
    return daemon.call("PUT", f"/cas/{hashlib.sha256(body).hexdigest()}", body)


def get(daemon, body):
    status, found = daemon.call("GET", f"/cas/{hashlib.sha256(body).hexdigest()}")
    return status == 200 and found == body


class DaemonOnTmpfs(Daemon):
    """In a mount namespace of its own, with its folder on a file system of some size."""

    def __init__(self, folder, options, *arguments):
        self._options, self._folder = options, folder
        super().__init__(folder, *arguments)

    def command(self, command):
        store = self._folder / "cache"
        script = f'mount -t tmpfs -o mode=0700,{self._options} none "$0" && exec "$@"'
        store.mkdir(exist_ok=True)
        return ["unshare", "--mount", "--map-root-user", "sh", "-c", script, str(store), *command]


def can_mount():
    if not all(map(shutil.which, ("unshare", "mount"))):
        return False
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True, timeout=60)
    return done.returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="this host lets nobody mount a tmpfs")


@needs_mounts
def test_full_disk_refuses_writes_with_507_and_serves_reads(tmp_path):
    daemon = DaemonOnTmpfs(tmp_path, "size=48m", "--min-free-bytes", "0")
    try:
        kept = []
        status = 200
        while status == 200:
            body = os.urandom(1 << 20)
            status, error = put(daemon, body)
            kept.append(body)
            assert len(kept) < 100
        assert status == 507, error
        refused = kept.pop()
        assert len(kept) > 10
        assert daemon.call("GET", "/-/ready")[0] == 200
        assert all(get(daemon, body) for body in kept)
        assert not get(daemon, refused)
        assert put(daemon, os.urandom(1 << 20))[0] in (503, 507)
        assert all(get(daemon, body) for body in kept)
        # Meanwhile RocksDB looks for room every five seconds, and says that it finds none.
        for _ in range(7):
            assert daemon.call("GET", f"/ac/{'0' * 64}")[0] == 404  # Counted.
            time.sleep(1)
        assert daemon.process.poll() is None
        assert all(get(daemon, body) for body in kept)
        # Each second the counters find none either; that is said once.
        said = [line for line in daemon.log.read_text().splitlines() if " warning statistics: " in line]
        assert 1 <= len(said) <= 2, said
    finally:
        daemon.process.kill()
        daemon.process.wait()


@needs_mounts
def test_little_free_disk_is_refused_before_anything_is_written(tmp_path):
    daemon = DaemonOnTmpfs(tmp_path, "size=64m", "--min-free-bytes", str(40 << 20))
    try:
        status = 200
        for _ in range(30):
            status, error = put(daemon, os.urandom(1 << 20))
            if status != 200:
                break
        assert status == 507 and b"must stay free" in error
        assert daemon.status()["cache"]["refused"]["disk"] >= 1
        metrics = daemon.call("GET", "/metrics")[1].decode()
        assert '\nstoker_cache_refused_writes_total{reason="disk"} ' in metrics
    finally:
        daemon.process.kill()
        daemon.process.wait()


@needs_mounts
def test_folder_on_a_read_only_disk_is_refused_at_the_start(tmp_path):
    script = 'mount -t tmpfs -o ro,mode=0700 none "$0" && exec "$@"'
    folder = tmp_path / "cache"
    folder.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, str(folder),
         str(BUILD / "bin" / "stokerd"), "--cache-dir", str(folder)],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert str(folder) in done.stderr and "Read-only file system" in done.stderr
