"""Curves over numbers of threads."""

import argparse
import os

import pytest

import threads


def point(implementation, count, median):
    steady = median and {"median": median}
    return {
        "model": "gpt2", "dtype": "float32", "batch": 1, "impl": implementation, "threads": count, "steady_ms": steady}


def test_numbers_of_threads_end_with_all_processors():
    assert threads.powers_up_to(1) == [1]
    assert threads.powers_up_to(8) == [1, 2, 4, 8]
    assert threads.powers_up_to(12) == [1, 2, 4, 8, 12]


def test_more_threads_than_processors_are_refused_with_both_numbers():
    processors = len(os.sched_getaffinity(0))
    with pytest.raises(argparse.ArgumentTypeError, match=f"'1,{processors + 1}' .* {processors} processors"):
        threads.parse_counts(f"1,{processors + 1}")


def test_a_curve_is_compared_with_the_best_on_as_many_threads():
    points = [point("eager", 1, 8.0), point("eager", 4, 3.0), point("inductor", 1, 6.0), point("inductor", 4, 4.0),
              point("stoker", 1, 4.0), point("stoker", 4, 1.0)]
    *_, stoker, multiples = threads.lines_of(points, [1, 4])
    assert stoker[1:] == ["stoker", "4.00", "1.00", "4.00"]
    assert multiples[1:] == ["best / stoker", "1.50", "3.00", ""]


def test_what_failed_has_no_number():
    [line] = threads.lines_of([point("eager", 1, None)], [1])
    assert line[2:] == ["-", "-"]


def test_a_wrong_result_has_no_time():
    figures = {"rel_err": 0.5, "steady_samples_s": [0.1]}
    of_count = threads.point_of(("gpt2", "float32", 1), "eager", 2, figures)
    assert of_count["steady_ms"] is None and "off by" in of_count["error"]
