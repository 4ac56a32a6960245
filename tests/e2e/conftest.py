"""Every test gets a cache folder, and with it a private daemon, of its own."""

import http.client
import json
import os
import pathlib
import socket
import subprocess

import pytest
from e2e import forked
from e2e.processes import Daemon, is_alive, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"


class Site:
    """A cache folder with its daemon, and jobs that use it."""

    def __init__(self, cache):
        self.cache = cache
        self._processes = []
        self.env = dict(
            os.environ, STOKER_CACHE_DIR=str(cache), STOKER_DAEMON=str(BUILD / "bin" / "stokerd"),
            STOKER_LIBRARY=str(BUILD / "lib" / "libstoker.so"),
            PYTHONPATH=str(ROOT / "client" / "python"), STOKER_AUDIT_ONE_IN="0",
            XDG_CONFIG_HOME=str(cache.parent / "config"),  # A user of its own.
            # Where a machine is busy with other tests, no daemon is slow.
            STOKER_ANSWER_TIMEOUT_MS="300000")
        for name in ("STOKER_URL", "STOKER_NAMESPACE", "STOKER_LOG", "STOKER_CAPTURES", "STOKER_RECORD",
                     "STOKER_SIGNERS", "STOKER_TARGET", "STOKER_WRITER_KEY", "STOKER_TRUSTED_WRITERS"):
            self.env.pop(name, None)
        if "STOKER_TEST_CAPTURES" in self.env:  # What ./dev matrix says.
            self.env["STOKER_CAPTURES"] = self.env["STOKER_TEST_CAPTURES"]

    def start(self, *arguments):
        job = [forked.python(), str(ROOT / "tests" / "e2e" / "job.py"), *map(str, arguments)]
        return self.keep(subprocess.Popen(
            job, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True))

    def keep(self, process):
        """Sees to it that the process ends with the test: it could start a daemon after that."""
        self._processes.append(process)
        return process

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
        self.tool("stop", check=False)

    def finish(self, process):
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return json.loads(out.splitlines()[-1])

    def run(self, *arguments):
        return self.finish(self.start(*arguments))

    def tool(self, *arguments, check=True):
        done = subprocess.run(
            [str(BUILD / "bin" / "stoker"), *arguments], env=self.env, capture_output=True,
            text=True, timeout=300)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def stats(self):
        return json.loads(self.tool("stats", "--json"))

    def status(self):
        """The daemon's status; there must be one."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.cache / "stokerd.sock"))
        connection.request("GET", "/status")
        return json.loads(connection.getresponse().read())

    def daemon_pid(self):
        return self.status()["pid"]

    def stop(self):
        """Stops the daemon and waits until it is gone."""
        pid = self.daemon_pid()
        self.tool("stop")
        wait_for(lambda: not is_alive(pid))


@pytest.fixture(scope="module")
def make_site(tmp_path_factory):
    """Makes sites that the tests of a module share."""
    made = []

    def make():
        made.append(Site(tmp_path_factory.mktemp("site") / "cache"))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path / "cache")
    yield site
    site.close()


@pytest.fixture
def daemon(tmp_path):
    """Starts daemons with options of their own."""
    made = []

    def make(*arguments, folder=tmp_path):
        made.append(Daemon(folder, *arguments))
        return made[-1]

    yield make
    for each in made:
        each.process.kill()
        each.process.wait()
