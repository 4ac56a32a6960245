#!/usr/bin/env python3
"""Prints the ten slowest tests of JUnit files that are there.

usage: slowest.py REPORT...
"""

import pathlib
import sys
import xml.etree.ElementTree

COUNT = 10


def slowest(reports):
    """(seconds, name), the slowest first."""
    found = []
    for report in filter(pathlib.Path.exists, reports):
        try:
            cases = xml.etree.ElementTree.parse(report).iter("testcase")
        except xml.etree.ElementTree.ParseError:
            continue  # count.py counts it as a failure.
        for case in cases:
            names = dict.fromkeys(filter(None, (case.get("classname"), case.get("name"))))
            found.append((float(case.get("time", 0)), " ".join(names)))
    return sorted(found, reverse=True)[:COUNT]


def main(arguments):
    for seconds, name in slowest([pathlib.Path(argument) for argument in arguments]):
        print(f"{seconds:7.1f} s  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
