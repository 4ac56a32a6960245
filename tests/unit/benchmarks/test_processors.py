"""Processors of one core."""

import argparse
import os
import subprocess
import sys
import threading

import pytest

import processors

ALL = sorted(os.sched_getaffinity(0))


def test_lists_are_read_with_ranges():
    assert processors.parse(f"{ALL[0]}-{ALL[0]},{ALL[-1]}") == sorted({ALL[0], ALL[-1]})


@pytest.mark.parametrize("text", ["", "a", "1-", "0,,1", f"{ALL[-1] + 1}"])
def test_what_is_no_list_of_processors_is_named(text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}'"):
        processors.parse(text)


def test_every_thread_is_moved_and_so_are_later_ones():
    program = """if True:
        import os, sys, threading
        stop = threading.Event()
        threading.Thread(target=stop.wait, daemon=True).start()
        print("ready", flush=True)
        sys.stdin.readline()
        later = []
        thread = threading.Thread(target=lambda: later.append(os.sched_getaffinity(0)))
        thread.start(); thread.join()
        print([os.sched_getaffinity(int(t)) for t in os.listdir("/proc/self/task")] + later, flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    processors.keep_to(child.pid, [ALL[-1]])
    out, _ = child.communicate("\n", timeout=60)
    found = eval(out)
    assert len(found) >= 3 and all(one == {ALL[-1]} for one in found), out


def test_processors_of_one_core_are_chosen_once(monkeypatch):
    monkeypatch.setattr(processors, "siblings", lambda one, beside: [other for other in beside if other // 2 == one // 2])
    assert processors.of_different_cores(3, range(8)) == [0, 2, 4]
    monkeypatch.setattr(processors, "siblings", lambda one, beside: [other for other in beside if other % 4 == one % 4])
    assert processors.of_different_cores(4, range(8)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="8 processors are of 4 cores, fewer than 5"):
        processors.of_different_cores(5, range(8))


def test_copies_are_timed_on_their_processor_and_leaves_the_thread_where_it_was():
    assert processors.seconds_beside(ALL[0], ALL[-1]) > 0
    assert sorted(os.sched_getaffinity(threading.get_native_id())) == ALL
