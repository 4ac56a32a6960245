"""One start in its own process, in which something goes wrong, for test_capture_faults.py: one JSON line.

usage: fault_job.py FAULT WAY CASE...   with WAY torch or stoker, as in torch.compile; CASEs of warm_cases.py
"""

import json
import os
import pathlib
import signal
import sys
import time

import torch

import stoker
import warm_cases
from job import Warnings
from stoker.captures.install import frames
from stoker.libstoker import client, library
from stoker.runtime import executable
from warm_job import difference, tensors_of

CALLS = 3


def none():
    pass


def run_fails(from_run=0):
    """The first `from_run` runs of artifacts in this process work, later ones do not."""
    original, runs = executable.Executable.run_once, []

    def run(self, arguments):
        runs.append(None)
        if len(runs) > from_run:
            raise library.StokerError(4, "no memory for a test")
        original(self, arguments)

    executable.Executable.run_once = run


def later_run_fails():
    run_fails(from_run=1)


def bind_fails():
    def bind(self, parameters):
        raise library.StokerError(4, "no memory for a test")

    executable.Executable._bind = bind


def load_fails():
    def load(*_):
        raise library.StokerError(7, "damaged for a test")

    client.Client.load = load


def is_running(pid):
    """Not gone, and no child of this process that is waited for."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def daemon_killed():
    """Between the lookup of the first capture and the fetch of its artifacts."""
    find = frames.store.find
    pid = client.status()["pid"]

    def find_and_kill(key):
        found = find(key)
        if frames.store.find is find_and_kill:
            frames.store.find = find
            os.kill(pid, signal.SIGKILL)
            while is_running(pid):
                time.sleep(0.01)
        return found

    frames.store.find = find_and_kill


def daemon_killed_for_good():
    daemon_killed()
    os.unlink(os.environ["STOKER_DAEMON"])


def main(fault, way, *names):
    warnings = Warnings()
    compile = stoker.compile if way == "stoker" else (
        lambda function: torch.compile(function, backend="stoker"))
    globals()[fault]()
    error = 0.0
    with torch.no_grad():
        for name in names:
            if "torch._dynamo" in sys.modules:
                torch._dynamo.reset()  # Its limit is for one function, and cases may share one.
            expected, actual = [], []
            for results, wrap in ((expected, lambda function: function), (actual, compile)):
                for function, arguments, keywords in getattr(warm_cases, name)():
                    called = wrap(function)
                    for _ in range(CALLS):
                        results += tensors_of(called(*arguments, **keywords))
                        results += tensors_of(arguments)  # What was changed in place.
            assert len(actual) == len(expected)
            error = max(error, *map(difference, actual, expected))
    traced = sys.modules.get("torch._dynamo.utils")
    print(json.dumps({
        "error": error, "warnings": warnings.messages, "counters": stoker.counters(),
        "traced": traced.counters["frames"]["total"] if traced else 0}))


if __name__ == "__main__":
    main(*sys.argv[1:])
