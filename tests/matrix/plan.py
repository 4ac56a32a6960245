"""Which versions of PyTorch run on which interpreters."""

import dataclasses
import os
import pathlib
import re
import subprocess

OLDEST_PYTHON = (3, 11)
ASK_TORCH = "import importlib.metadata; print(importlib.metadata.version('torch'))"
VERSION = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
MAKES_ENVIRONMENTS = "import ensurepip, venv; " + VERSION


class BadRequest(Exception):
    """What was asked for is not there; the text says what is."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One environment: a version of PyTorch such as 2.15, and an interpreter's such as 3.11."""

    version: str
    python: str
    interpreter: str
    is_made: bool = False  # The interpreter is that of an environment, and has PyTorch.

    @property
    def name(self):
        return f"torch-{self.version}-py{self.python}"

    def __str__(self):
        return f"{self.version}@{self.python}"


def by_number(version):
    return [int(part) for part in version.split(".")]


def versions(folder):
    """Versions that have a list in a folder, the oldest first."""
    return sorted((path.stem for path in folder.glob("*.txt")), key=by_number)


def version_of(interpreter, probe=MAKES_ENVIRONMENTS):
    """Such as (3, 11); None for what is not CPython, fails in `probe` or does not start."""
    try:
        done = subprocess.run([interpreter, "-c", probe], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, *numbers = done.stdout.split() or [""]
    return tuple(map(int, numbers)) if done.returncode == 0 and name == "cpython" else None


def candidates(variables):
    """Paths of what is called python3.N on PATH and under ~/.pyenv/versions."""
    folders = [pathlib.Path(folder) for folder in variables.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(pathlib.Path(variables.get("HOME", "/"), ".pyenv", "versions").glob("*/bin"))
    return [
        path for folder in folders for path in sorted(folder.glob("python3.*"))
        if re.fullmatch(r"python3\.\d+", path.name)]


def interpreters(paths, version_of=version_of):
    """{"3.12": path} of those that Stoker runs on, the first of each version."""
    found = {}
    for path in paths:
        python = path.name.removeprefix("python")
        if python in found or tuple(by_number(python)) < OLDEST_PYTHON:
            continue
        if version_of(str(path)) == tuple(by_number(python)):
            found[python] = str(path)
    return found


def row_of(interpreter):
    """The row of an environment that is there, by its interpreter."""
    python = version_of(interpreter, VERSION)
    asked = subprocess.run([interpreter, "-c", ASK_TORCH], capture_output=True, text=True)
    if python is None or asked.returncode != 0:
        raise BadRequest(f"{interpreter} is no CPython with PyTorch.")
    version = ".".join(asked.stdout.split(".")[:2])
    return Row(version, ".".join(map(str, python)), interpreter, is_made=True)


def rows(wanted, known, default, others):
    """The rows for arguments VERSION or VERSION@PYTHON; for none, all versions.

    `known` are versions of PyTorch, the oldest first; `default` is the version of python3, `others` what
    interpreters() gives. Without @PYTHON, the newest PyTorch runs on every interpreter.
    """
    made = []
    for argument in wanted or known:
        version, _, python = argument.partition("@")
        if version not in known:
            raise BadRequest(f"No PyTorch {version} in docker/torch/: there is {', '.join(known)}.")
        here = {**others, default: "python3"}
        if python and python not in here:
            raise BadRequest(f"No Python {python} is found: there is {', '.join(sorted(here))}.")
        pythons = [python or default]
        if not python and version == known[-1]:
            pythons += sorted(set(others) - {default}, key=by_number)
        made += [Row(version, each, here[each]) for each in pythons]
    return list(dict.fromkeys(made))
