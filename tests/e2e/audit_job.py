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


@torch.compiler.disable
def pause():
    """Each part of a function that goes on after this is audited: there is one audit at a time."""
    wait_for_child()
    return 1


def broken(x):
    """The graph breaks in the open, among values that wait, and within a context, and parts go on from parts."""
    first = torch.relu(x) * SCALE
    pause()
    second = first.sin() + x
    third = second * (first + pause())
    with torch.no_grad():
        fourth = third + first
        pause()
        fourth = fourth.cos()
    for _ in range(2):
        fourth = fourth * second
    fifth = {"sum": fourth + third, "turns": pause()}
    return first - first + torch.stack([second, third, fourth, fifth["sum"] * fifth["turns"]]).isfinite().sum()


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
    if "backward" in flags:  # Autograd has threads from now on, which a forked child has not.
        torch.ones(1, requires_grad=True).sum().backward()
    function = broken if "breaks" in flags else scaled
    if way == "direct":
        compiled = stoker.compile(function)
    else:
        compiled = torch.compile(function, backend="stoker")
    result = compiled(torch.ones(4, requires_grad="backward" in flags))
    wait_for_child()
    print(json.dumps({
        "result": result.tolist(), "counters": stoker.counters(),
        "traced": sys.modules["torch._dynamo.utils"].counters["frames"]["ok"]
        if "torch._dynamo.utils" in sys.modules else 0}))


main()
