"""Starts that are timed in turns."""

import os

import pytest

import turns

TIMEOUT_S = 60
ANSWERS = """
import json, sys
print("[library] not what is asked for")
print(json.dumps({"first_call_s": 1.0}), flush=True)
for line in sys.stdin:
    answer = {"rel_err": 0.5} if line.split() == ["check"] else [float(line)] * 2
    print(json.dumps(answer), flush=True)
"""
ENDS_EARLY = ANSWERS.replace("for line in sys.stdin:", "for line in [sys.stdin.readline()]:")


@pytest.fixture
def start():
    started = []

    def begin(program, timeout_s=TIMEOUT_S):
        started.append(turns.Start(["-c", program], dict(os.environ), timeout_s))
        return started[-1]

    yield begin
    for each in started:
        each.close()


def test_samples_of_all_turns_are_kept(start):
    starts = [start(ANSWERS), start(ANSWERS)]
    turns.take(starts, 3, 0.5)
    for each in starts:
        assert each.figures["first_call_s"] == 1.0 and each.figures["steady_samples_s"] == [0.5] * 6


def test_after_the_turns_each_is_asked_for_one_more_result(start):
    starts = [start(ANSWERS), start(ANSWERS)]
    turns.take(starts, 1, 0.5)
    assert [each.figures["rel_err"] for each in starts] == [0.5, 0.5]


BUSY = ANSWERS.replace("    answer =", "    import time; ends = time.process_time() + 0.3\n    while time.process_time() < ends: pass\n    answer =")


def test_what_others_compute_meanwhile_is_told_and_what_is_timed_is_not(start):
    busy, idle = start(BUSY), start(ANSWERS)
    beside = turns.Times([busy.pid])
    alone = turns.Times([])
    turns.take([busy, idle], 2, 0.5)
    # The same time, once as its own and once as another's.
    told_apart = turns.Times([]).others_since(alone) - turns.Times([busy.pid]).others_since(beside)
    assert told_apart > 0
    assert turns.said_of_others(0.01) is None and "37%" in turns.said_of_others(0.37)


def test_a_start_that_fails_says_why_and_is_asked_nothing(start):
    failed = start("raise SystemExit('no such model')")
    turns.take([failed], 2, 0.5)
    assert failed.figures == {"error": "no such model\n"}


def test_one_that_ends_between_its_turns_has_an_error_and_the_others_go_on(start):
    ended, other = start(ENDS_EARLY), start(ANSWERS)
    turns.take([ended, other], 3, 0.5)
    assert "status 0" in ended.figures["error"] and len(other.figures["steady_samples_s"]) == 6


def test_one_that_takes_too_long_is_killed(start):
    assert "status -9" in start("import time; time.sleep(60)", timeout_s=0.2).figures["error"]
