"""Reads the files of the repository that the lints judge."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_files(wanted=lambda path: True):
    """{path: text} of every file that git tracks or would track; "" for those not wanted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    files = {}
    for path in filter(None, listed):
        if (ROOT / path).is_file():  # A deleted file is listed until the deletion is committed.
            content = (ROOT / path).read_bytes() if wanted(path) else b""
            files[path] = content.decode("utf-8", "replace")
    return files


def report(complaints):
    """Prints complaints, one a line; the exit status that goes with them."""
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0
