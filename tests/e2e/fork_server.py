"""A process that has imported PyTorch and all that compiling takes, and forks one for each program to run.

usage: fork_server.py SOCKET    it ends when its standard input does

fork_client.py stands for each such process: it hands over its open files, arguments, environment and folder, sends
on the signals that it gets, and ends as the process does. Two servers differ as two processes do, in their hashes and
addresses: a program that has to work in another process is run by another server.
"""

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import importlib.machinery
import marshal
import os
import select
import signal
import socket
import sys
import threading
import types

# PyTorch, and what a first call of torch.compile imports.
MODULES = (
    "torch", "torch._dynamo", "torch._functorch.aot_autograd", "torch._inductor.compile_fx", "torch.export._trace",
    "torch._dynamo.repro.after_dynamo", "torch._subclasses.schema_check_mode", "torch.fx.experimental.validator",
    # What jobs take models of.
    "transformers.models.gpt2.modeling_gpt2", "transformers.models.bert.modeling_bert",
    "transformers.models.llama.modeling_llama", "transformers.models.t5.modeling_t5", "torchvision.models")
MAX_FILES = 64


def main(path):
    for name in MODULES:
        importlib.import_module(name)
    # It flushes the processor's caches, to log how long guards take.
    sys.modules["torch._dynamo.guards"].profile_guard_manager = lambda *_: 0.0
    gc.collect()
    gc.freeze()
    own_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    plain_path = [entry for entry in sys.path[1:] if entry not in own_path]
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    program = _serve(listening)
    if program is not None:
        _become(*program, plain_path)


def _serve(listening):
    """In a child: what it is to run. In the server: None, at its end."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    clients = {}  # The connection of each child.
    while True:
        ready, _, _ = select.select([0, wake, listening, *clients.values()], [], [])
        if 0 in ready:
            for pid in clients:
                os.kill(pid, signal.SIGKILL)
            return None
        if wake in ready:
            os.read(wake, 1 << 16)
        for pid, client in list(clients.items()):
            if client in ready:
                _signal(pid, client)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with contextlib.suppress(OSError):
                    client.sendall(marshal.dumps(status))
                client.close()
                del clients[pid]
        if listening in ready:
            client, _ = listening.accept()
            request = _receive(client)
            if request is None:
                client.close()
                continue
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for file in (listening, client, *clients.values()):
                    file.close()
                os.close(wake)
                os.close(woken)
                return request
            for file in request[0]:
                os.close(file)
            clients[pid] = client
            with contextlib.suppress(OSError):
                client.sendall(b"+")  # It is started: signals may come.


def _receive(client):
    """(files, what the client says of the program), or None where the client has gone."""
    files, size, data = array.array("i"), b"", b""
    with contextlib.suppress(ConnectionResetError):
        data, ancillary, _, _ = client.recvmsg(1 << 16, socket.CMSG_SPACE(MAX_FILES * files.itemsize))
        for _, _, part in ancillary:
            files.frombytes(part)
        size, _, data = data.partition(b"\n")
        while len(data) < int(size or 0) and (more := client.recv(1 << 16)):
            data += more
    if len(data) == int(size or -1):
        numbers, *said = marshal.loads(data)
        if len(numbers) == len(files):
            return files, (numbers, *said)
    for file in files:
        os.close(file)
    return None


def _signal(pid, client):
    """Sends on what the client got; a client that is gone was killed."""
    try:
        numbers = client.recv(64)
    except ConnectionResetError:
        numbers = b""
    for number in numbers or [signal.SIGKILL]:
        os.kill(pid, number)


def _become(files, said, plain_path):
    """Runs a program as the interpreter would."""
    numbers, environment, folder, arguments = said
    # None may stand where another belongs.
    apart = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, max(numbers) + 1) for file in files]
    for file in files:
        os.close(file)
    for number, file in zip(numbers, apart):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    path = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    if arguments[0] == "-c":
        code, filename, first = arguments[1], "<string>", ""
        sys.argv = ["-c", *arguments[2:]]
    else:
        filename = module.__file__ = arguments[0]
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", filename)
        code, first = module.__loader__.get_data(filename), os.path.dirname(os.path.realpath(filename))
        sys.argv = list(arguments)
    sys.orig_argv = [sys.executable, *arguments]
    sys.path[:] = [*([] if environment.get("PYTHONSAFEPATH") else [first]), *path, *plain_path]
    sys.modules["__main__"] = module
    _end(lambda: exec(compile(code, filename, "exec", dont_inherit=True), module.__dict__))


def _end(run):
    """Ends as the interpreter would, but for taking everything apart: that takes longer than most programs."""
    status = 0
    try:
        run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            file.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)
