#!/usr/bin/env python3
"""Which processors belong to one core, and threads that are kept to some of them.

usage: processors.py N     prints N processors of as many cores, for --processors

A virtual machine may show every processor as a core of its own where two of them share one: whether they do is
measured, by what copies within the first-level cache, which a core makes one at a time, take on one of them while
the other makes some too.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

COPIES, COPIED_BYTES = 20_000, 16 << 10
TRIALS = 15
SHARED = 1.5  # Times as long beside copies on the same core, which take twice as long; on another one it is close to 1.


def parse(text):
    """[0, 2, 4, 5] of '0,2,4-5'."""
    chosen = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of processors such as 0,2,4-7")
        first, last = int(match[1]), int(match[2] or match[1])
        chosen += range(first, last + 1)
    if absent := sorted(set(chosen) - os.sched_getaffinity(0)):
        raise argparse.ArgumentTypeError(f"'{text}' names processors that this process may not use: {absent}")
    return sorted(set(chosen))


def keep_to(pid, processors):
    """Every thread of the process, and those that they start, runs on these alone."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # It has ended meanwhile.
            os.sched_setaffinity(int(thread.name), processors)


def siblings(processor, beside):
    """Those of `beside` that share the processor's core, by what the kernel says or copies take."""
    listed = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
    if listed.exists() and len(shown := parse(listed.read_text().strip())) > 1:
        return [other for other in beside if other in shown]
    alone = seconds_on(processor)
    return [other for other in beside if seconds_beside(processor, other) > SHARED * alone]


def seconds_on(processor):
    """The least that the copies take there; this thread stays where it was."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        return min(_copies() for _ in range(TRIALS))
    finally:
        os.sched_setaffinity(0, before)


def seconds_beside(processor, other):
    busy = subprocess.Popen([sys.executable, "-c", f"""
source, target = memoryview(bytearray({COPIED_BYTES})), memoryview(bytearray({COPIED_BYTES}))
print(flush=True)
while True:
    target[:] = source
"""], stdout=subprocess.PIPE)
    try:
        os.sched_setaffinity(busy.pid, {other})
        busy.stdout.readline()  # It has started.
        return seconds_on(processor)
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()


def _copies():
    source, target = memoryview(bytearray(COPIED_BYTES)), memoryview(bytearray(COPIED_BYTES))
    started = time.perf_counter()
    for _ in range(COPIES):
        target[:] = source
    return time.perf_counter() - started


def of_different_cores(count, processors):
    """The first `count` of them that share no core with one before; ValueError: there are not so many."""
    left, chosen = sorted(processors), []
    while left and len(chosen) < count:
        chosen.append(left.pop(0))
        shared = siblings(chosen[-1], left)
        left = [processor for processor in left if processor not in shared]
    if len(chosen) < count:
        raise ValueError(f"{len(processors)} processors are of {len(chosen)} cores, fewer than {count}.")
    return chosen


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    print(*of_different_cores(int(sys.argv[1]), os.sched_getaffinity(0)), sep=",")


if __name__ == "__main__":
    main()
