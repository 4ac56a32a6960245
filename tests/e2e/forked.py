"""Python processes that start with PyTorch imported, for tests that do not ask what a process imports."""

import atexit
import marshal
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache

HERE = pathlib.Path(__file__).parent
SERVERS = 2
VARIABLE = "STOKER_TEST_PYTHON"  # The program, where somebody has started servers for several runs.


@cache
def python():
    """The path of a program that takes the arguments of sys.executable."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    servers = Servers(tempfile.mkdtemp(prefix="stoker-fork-"), dict(os.environ), SERVERS)
    atexit.register(shutil.rmtree, servers.folder)
    atexit.register(servers.end)
    return servers.python


class Servers:
    """So many in an environment, which `python`, a program in `folder`, asks for processes."""

    def __init__(self, folder, env, count):
        self.folder = pathlib.Path(folder)
        sockets = [self.folder / str(number) for number in range(count)]
        self._processes = []
        for path in sockets:
            pathlib.Path(f"{path}.env").write_bytes(marshal.dumps(env))
            self._processes.append(subprocess.Popen(
                [sys.executable, str(HERE / "fork_server.py"), str(path)], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, env=env))
        for path, server in zip(sockets, self._processes):
            _wait_for(path, server)
        program = self.folder / "python"
        client = [sys.executable, "-ISs", str(HERE / "fork_client.py"), *map(str, sockets), "--"]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
        program.chmod(0o755)
        self.python = str(program)

    def end(self):
        for server in self._processes:
            server.stdin.close()
            server.wait()


def _wait_for(path, server):
    while server.poll() is None:
        with socket.socket(socket.AF_UNIX) as connection:
            if not connection.connect_ex(str(path)):
                return
        time.sleep(0.05)
    raise RuntimeError(f"The fork server ended with status {server.returncode}.")
