"""without_amx.py: the permission is refused to a command and to what it starts, and nothing else is."""

import pathlib
import subprocess
import sys

import pytest

COMMAND = [sys.executable, str(pathlib.Path(__file__).with_name("without_amx.py"))]
# Asks for the permission, and for which ones there are.
ASK = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
asked = libc.syscall(158, 0x1023, 18)
print("refused" if asked and ctypes.get_errno() == errno.EPERM else "asked", libc.syscall(158, 0x1022, ctypes.byref(
    ctypes.c_ulong())) == 0)
"""


def run(*command):
    return subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", (
    [sys.executable, "-c", ASK],
    [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ASK!r}])"]))
def test_permission_is_refused_and_nothing_else(command):
    done = run(*command)
    assert (done.returncode, done.stdout) == (0, "refused True\n"), done.stderr


def test_the_command_says_how_it_ended():
    assert run("false").returncode == 1
    assert run().stderr.startswith("usage:")
