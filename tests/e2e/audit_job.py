"""A compiled function whose capture can be made to hold where it does not. Prints its result, and what was counted."""

import json
import os
import signal
import sys
import threading
import time

import torch

import stoker

SCALE = float(os.environ.get("SCALE", "2"))
WAIT_S = 60


def scaled(x):
    return torch.relu(x) * SCALE


def wait_for_child():
    deadline = time.monotonic() + WAIT_S
    while any(thread.name == "stoker-audit" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def main():
    way, *flags = sys.argv[1:]
    if "hole" in flags:  # Later checks and all: nothing that has changed is noticed.
        from stoker.captures.check import program

        program.GuardProgram.first_failure = lambda self, local_values: setattr(
            self, "_values", self._evaluate(local_values)) or setattr(self, "_describe", self._new_describer())
        program.GuardProgram.bind = lambda self: lambda local_values: True
    if "reaped" in flags:  # By the system: nobody may wait for them.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if way == "direct":
        compiled = stoker.compile(scaled)
    else:
        compiled = torch.compile(scaled, backend="stoker")
    result = compiled(torch.ones(4))
    wait_for_child()
    print(json.dumps({
        "result": result.tolist(), "counters": stoker.counters(),
        "traced": sys.modules["torch._dynamo.utils"].counters["frames"]["ok"]
        if "torch._dynamo.utils" in sys.modules else 0}))


main()
