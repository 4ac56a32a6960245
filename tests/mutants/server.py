"""A process that has imported what all programs need, and forks a child for each task.

usage: server.py [MODULE...]    modules that programs import, too

Tasks come on standard input and answers go to standard output, one JSON line each (child.py says what they hold). A
child that dies or does not end within the task's "limit_s" is answered for.
"""

import gc
import importlib
import json
import os
import select
import signal
import sys

import torch
import torch._dynamo

from mutants import child


def main(modules):
    torch.set_num_threads(1)  # No thread of PyTorch's stays behind in a fork.
    for name in modules:
        importlib.import_module(name)
    child.prepare()
    # Children read their tasks from nowhere, and print nowhere.
    tasks, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    gc.collect()
    gc.freeze()
    for line in tasks:
        answers.write(_answer(line) + "\n")
        answers.flush()
    os._exit(0)  # Extensions of PyTorch's would say what they leave behind.


def _answer(line):
    task = json.loads(line)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child.run(task, writing)  # Does not return.
    os.close(writing)
    answer = _read(reading, task["limit_s"])
    os.close(reading)
    if answer is None:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if answer is None:
        return json.dumps({"outcome": "no end"})
    return answer.decode() or json.dumps({"outcome": "died"})


def _read(file, limit_s):
    """All that the child writes; None if it does not end in time."""
    parts = []
    while True:
        ready, _, _ = select.select([file], [], [], limit_s)
        if not ready:
            return None
        part = os.read(file, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


if __name__ == "__main__":
    main(sys.argv[1:])
