"""Daemons with arguments of their own, and jobs without PyTorch that use one."""

import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"
WAIT_S = 300  # A machine that is busy with other things takes a minute to import PyTorch.


def wait_for(condition):
    """What `condition` gives as soon as it is true."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.005)
    raise AssertionError(f"Nothing happened within {WAIT_S} s.")


def children_of(pid):
    """Process ids."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue  # It ended meanwhile.
        if parent == pid:
            found.append(int(path.parent.name))
    return found


def is_alive(pid):
    """False for a process that has ended, whether its parent has waited for it or not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class HeldWorkers:
    """While it holds them, the compile workers of a daemon make no progress."""

    def __init__(self, daemon_pid):
        # One is started ahead of the first request.
        self.pids = wait_for(lambda: children_of(daemon_pid))
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def release(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)


def start(site, widths, **env):
    job = [sys.executable, str(ROOT / "tests" / "e2e" / "light_job.py"), *map(str, widths)]
    return site.keep(subprocess.Popen(
        job, env={**site.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def run(site, widths, **env):
    result = site.finish(start(site, widths, **env))
    assert result["error"] <= 1e-5
    return result


# A graph with kernels for every kind of target.
POINTWISE = "graph @pointwise(%0: f32[8,16]) {\n  %1 = tanh(%0) : f32[8,16]\n  return %1\n}\n"


def record(site, text, manifest):
    """Compiles a graph for this processor, and writes the request down."""
    program = f"import light_job; light_job.compile_for(None, {text!r})"
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=WAIT_S,
        env={**site.env, "STOKER_RECORD": str(manifest),
             "PYTHONPATH": f"{site.env['PYTHONPATH']}:{ROOT / 'tests' / 'e2e'}"})


class Daemon:
    """stokerd with arguments of its own."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.log = folder / "log"
        self.process = subprocess.Popen(self.command(
            [str(BUILD / "bin" / "stokerd"), "--cache-dir", str(folder / "cache"), "--log-file",
             str(self.log), "--listen", "http://127.0.0.1:0", *arguments]))
        wait_for(lambda: self.address() or self.process.poll() is not None)
        assert self.process.poll() is None, f"The daemon ended with {self.process.poll()}."
        self.url = self.address()[1]

    def address(self):
        """What the log says where it listens, as a match."""
        return self.log.exists() and re.search(r'listens on ([^\s"]+)', self.log.read_text())

    def command(self, command):
        """The command that starts it."""
        return command

    def call(self, method, path, body=None):
        """Status and body."""
        request = urllib.request.Request(self.url + path, body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def call_or_none(self, path):
        """What GET `path` gives; None when nobody answers."""
        try:
            return self.call("GET", path)
        except (OSError, http.client.HTTPException):
            return None

    def status(self):
        return json.loads(self.call("GET", "/status")[1])

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)


class Between:
    """Stands between jobs and a daemon: `change(path, status, reply)` gives the reply that they get."""

    def __init__(self, daemon, change):
        between = self
        self.requests = []  # Paths and bodies.

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                between.requests.append((self.path, body))
                status, reply = daemon.call(self.command, self.path, body or None)
                reply = change(self.path, status, reply)
                self.send_response(status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            do_GET = do_PUT = do_POST

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
