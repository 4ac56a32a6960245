#!/usr/bin/env python3
"""Code and documents name no path and no package host of the machine they were written on."""

import re
import sys

import repository

FORBIDDEN = re.compile(
    r"(?<![\w.$}])/(work|home|Users|workspace)/[\w.]"
    r"|(deb|security)\.debian\.org|pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org")


def complaints(files):
    """Complaints, path:line: message, about files given as {path: text}."""
    return [
        f"{path}:{number}: '{match.group()}' is true of one machine only."
        for path, text in sorted(files.items())
        for number, line in enumerate(text.splitlines(), 1)
        if (match := FORBIDDEN.search(line))
    ]


if __name__ == "__main__":
    sys.exit(repository.report(complaints(repository.read_files())))
