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
    return os.environ.get(VARIABLE) or _start()


def _start():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-fork-"))
    atexit.register(shutil.rmtree, folder)
    sockets = [folder / str(number) for number in range(SERVERS)]
    servers = []
    for path in sockets:
        pathlib.Path(f"{path}.env").write_bytes(marshal.dumps(dict(os.environ)))
        servers.append(subprocess.Popen(
            [sys.executable, str(HERE / "fork_server.py"), str(path)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL))
        atexit.register(_end, servers[-1])
    for path, server in zip(sockets, servers):
        _wait_for(path, server)
    program = folder / "python"
    client = [sys.executable, "-ISs", str(HERE / "fork_client.py"), *map(str, sockets)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
    program.chmod(0o755)
    return str(program)


def _wait_for(path, server):
    while server.poll() is None:
        with socket.socket(socket.AF_UNIX) as connection:
            if not connection.connect_ex(str(path)):
                return
        time.sleep(0.05)
    raise RuntimeError(f"The fork server ended with status {server.returncode}.")


def _end(server):
    server.stdin.close()
    server.wait()
