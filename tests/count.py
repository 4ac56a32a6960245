#!/usr/bin/env python3
"""Prints the closing line of ./dev test: `N passed, N failed`, and `, N skipped` if there are any.

Usage: count.py PASSED FAILED REPORT=STATUS...
PASSED and FAILED count checks that write no report. Each REPORT is a JUnit file and STATUS the exit
status of what wrote it: a report that is absent, or that shows no failure although its writer failed,
counts as one failure. Exits 1 if anything failed.
"""

import pathlib
import sys
import xml.etree.ElementTree


def outcome(case):
    """What a JUnit case says: passed, failed or skipped."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def outcomes(report):
    """(passed, failed, skipped) of a JUnit file."""
    found = [outcome(case) for case in xml.etree.ElementTree.parse(report).iter("testcase")]
    return tuple(map(found.count, ("passed", "failed", "skipped")))


def total(passed, failed, reports):
    """Sums checks and reports; `reports` is a list of (path, exit status of its writer)."""
    skipped = 0
    for report, status in reports:
        try:
            found = outcomes(report)
        except (OSError, xml.etree.ElementTree.ParseError):
            found = (0, 0, 0)
            status = status or 1
        if status != 0 and found[1] == 0:
            found = (found[0], 1, found[2])
        passed, failed, skipped = (
            passed + found[0], failed + found[1], skipped + found[2])
    return passed, failed, skipped


def report(passed, failed, reports):
    """Prints the line for what total() takes; the exit status that goes with it."""
    passed, failed, skipped = total(passed, failed, reports)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


def main(arguments):
    reports = [argument.rpartition("=") for argument in arguments[2:]]
    return report(
        int(arguments[0]), int(arguments[1]),
        [(pathlib.Path(path), int(status)) for path, _, status in reports])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
