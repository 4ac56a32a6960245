#!/usr/bin/env python3
"""Runs tests on all processors; afterwards, one by one, those that are marked `alone`.

One process more than there are processors runs tests, where there is memory for it: tests wait for each other's
daemons, for time limits and for the ends of processes, and meanwhile the processor is another's.

usage: run_pytest.py REPORT PYTEST_ARGUMENT...     with the interpreter of the environment to test in

Writes one JUnit file of both runs. Exits with 1 if either fails.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from e2e import forked

# Each process imports PyTorch, and has jobs and a daemon beside it: about 2 GiB.
BYTES_OF_PROCESS = 2 << 30
MAX_PROCESSES = 16
NOTHING_COLLECTED = 5


def available_bytes(path="/proc/meminfo"):
    """Of memory, what Linux would give to a program that starts now."""
    lines = dict(line.split(":") for line in pathlib.Path(path).read_text().splitlines())
    return int(lines["MemAvailable"].removesuffix("kB")) << 10


def number_of_processes(processors, memory):
    """That run tests at one time."""
    more = memory >= (processors + 1) * BYTES_OF_PROCESS
    return min(processors + more, MAX_PROCESSES)


def commands(folder, arguments, processes):
    """The two runs of pytest, and the report of each."""
    each = [sys.executable, "-m", "pytest", *arguments]
    parallel = ["-n", str(processes), "--dist", "loadgroup"]
    reports = [folder / "parallel.xml", folder / "alone.xml"]
    return [
        ([*each, *parallel, "-m", "not alone", "--junitxml", str(reports[0])], reports[0]),
        ([*each, "-m", "alone", "--junitxml", str(reports[1])], reports[1])]


def merged(reports):
    """One JUnit document of all files that are there and whole."""
    root = xml.etree.ElementTree.Element("testsuites")
    for report in reports:
        try:
            root.extend(xml.etree.ElementTree.parse(report).getroot())
        except (OSError, xml.etree.ElementTree.ParseError):
            continue  # The exit status says that something is missing.
    return xml.etree.ElementTree.ElementTree(root)


def main(arguments):
    report = pathlib.Path(arguments[0])
    report.parent.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # Threads that wait leave the processor to other tests.
    os.environ[forked.VARIABLE] = forked.python()
    with tempfile.TemporaryDirectory() as folder:
        processes = number_of_processes(len(os.sched_getaffinity(0)), available_bytes())
        runs = commands(pathlib.Path(folder), arguments[1:], processes)
        statuses = {subprocess.run(command).returncode for command, _ in runs}
        merged([each for _, each in runs]).write(report, encoding="utf-8")
    return 1 if statuses - {0, NOTHING_COLLECTED} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
