"""Stands for a process that one of several servers forks (fork_server.py): as `python ARGUMENT...`, without what that
takes to import PyTorch.

usage: fork_client.py SOCKET... -- ARGUMENT...

Where the environment asks for another interpreter than the servers' - hashes of its own, another PyTorch, another
number of threads, a library loaded before all others - for arguments that are options, and where it has more open
files than can be handed over, it becomes a new process.
"""

import marshal
import os
import signal
import socket
import sys

MAX_FILES = 64
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT)
# What Python, its loader and PyTorch read while they start.
READ_AT_START = ("PYTHON", "LD_", "OMP_", "MKL_", "KMP_", "GOMP_", "TORCH", "MALLOC_", "GLIBC_", "ATEN_", "CUDA_")
# By a forked process, too. The last one is set by TorchInductor where it has run, and read whenever it does.
HEEDED = ("PYTHONPATH", "PYTHONSAFEPATH", "TORCHINDUCTOR_CACHE_DIR")


def torches(environment):
    """Where PyTorch is that comes before the interpreter's own."""
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    return [entry for entry in path if entry and os.path.isdir(os.path.join(entry, "torch"))]


def needs_its_own(environment, arguments, server):
    """`server`: what the servers were started with."""
    if not arguments or (arguments[0].startswith("-") and arguments[0] != "-c"):
        return True
    return torches(environment) != torches(server) or any(
        environment.get(name) != server.get(name) for name in {*environment, *server}
        if name.startswith(READ_AT_START) and name not in HEEDED)


def open_files():
    """The numbers of all that it was started with."""
    listed = [int(name) for name in os.listdir("/proc/self/fd")]
    return sorted({0, 1, 2, *(number for number in listed if os.path.lexists(f"/proc/self/fd/{number}"))})


def main(sockets, arguments):
    environment = dict(os.environ)
    path = sockets[os.getpid() % len(sockets)]
    with open(f"{path}.env", "rb") as file:
        server = marshal.load(file)
    files = open_files()
    if needs_its_own(environment, arguments, server) or len(files) > MAX_FILES:
        os.execv(sys.executable, [sys.executable, *arguments])
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # Until there is somebody to send them on to.
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    said = marshal.dumps((files, environment, os.getcwd(), arguments))
    socket.send_fds(connection, [b"%d\n" % len(said)], files)
    connection.sendall(said)
    if connection.recv(1) != b"+":
        sys.exit("The fork server has ended.")
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: connection.sendall(bytes([number])))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    for file in files:  # They are the process's, to close too.
        os.close(file)
    answer = connection.recv(64)
    status = marshal.loads(answer) if answer else signal.SIGKILL
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    separator = sys.argv.index("--")
    main(sys.argv[1:separator], sys.argv[separator + 1:])
