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
