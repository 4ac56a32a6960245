#!/usr/bin/env python3
"""Prints which x86 targets the tests compiled kernels for, and which of them ran.

Usage: targets.py REPORT
Each line of REPORT is "TARGET COMPILED RUN EMULATED", counts of kernels in one process. Targets that
were only compiled need more than this processor has.
"""

import pathlib
import sys


def total(lines):
    """target -> (compiled, run, emulated), in the order of names."""
    sums = {}
    for line in lines:
        target, *counts = line.split()
        sums[target] = tuple(map(sum, zip(sums.get(target, (0, 0, 0)), map(int, counts))))
    return dict(sorted(sums.items()))


def says(target, compiled, run, emulated):
    """'x86-64-v4: 12 kernels compiled, 10 run', naming emulation where there was any."""
    text = f"{target.removeprefix('cpu/')}: {compiled} kernels compiled, {run or 'none'} run"
    return text + (" with emulated tiles" if emulated else "")


def main(arguments):
    path = pathlib.Path(arguments[0])
    found = total(path.read_text().splitlines()) if path.exists() else {}
    for target, counts in found.items():
        print(says(target, *counts))
    run = sum(1 for _, run, _ in found.values() if run)
    print(f"x86 targets: {len(found)} compiled, {run} run")


if __name__ == "__main__":
    main(sys.argv[1:])
