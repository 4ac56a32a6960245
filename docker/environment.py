#!/usr/bin/env python3
"""Makes a Python environment, or adds what an existing one lacks.

usage: environment.py [--python PYTHON] FOLDER LIST...

Each LIST is a file of requirements, as in this folder. Packages are installed by uv, which unpacks each of
them once for all environments of a disk; where uv cannot be had, by pip. The Python package of
client/python is installed too, so that PyTorch finds its backend by the package's metadata.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE.parent / "client" / "python"


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(command, quiet=False, env=None):
    """Whether a command succeeds."""
    out = subprocess.DEVNULL if quiet else None
    return subprocess.run(list(map(str, command)), stdout=out, stderr=out, env=env).returncode == 0


def uv_variables(variables):
    """Environment variables under which uv finds the index and the certificates that pip finds."""
    found = {"UV_SYSTEM_CERTS": "1", **variables}
    if "PIP_INDEX_URL" in variables:
        found.setdefault("UV_DEFAULT_INDEX", variables["PIP_INDEX_URL"])
    return found


class Environment:
    """A folder made by `python -m venv`. `run` is the function above; tests give another."""

    def __init__(self, folder, run=run):
        self.python = folder / "bin" / "python"
        self._folder = folder
        self._uv = folder / "bin" / "uv"
        self._run = run

    def _pip(self, *arguments, **keywords):
        return self._run(
            [self.python, "-m", "pip", "--disable-pip-version-check", *arguments], **keywords)

    def _uv_pip_install(self, *arguments, **keywords):
        return self._uv.exists() and self._run(
            [self._uv, "pip", "install", "--python", self.python, *arguments],
            env=uv_variables(os.environ), **keywords)

    def make(self, interpreter):
        """True if it is there, or could be made."""
        if (self._folder / "bin" / "pip").exists():
            return True
        say(f"Making the Python environment {self._folder}")
        return self._run([interpreter, "-m", "venv", self._folder])

    def holds(self, requirements):
        """Whether everything that a list asks for is there, which takes no network and no time."""
        question = ["--quiet", "--no-index", "--dry-run", "--requirement", requirements]
        if self._uv.exists():
            return self._uv_pip_install(*question, quiet=True)
        return self._pip("install", *question, quiet=True)

    def install(self, requirements):
        if self.holds(requirements):
            return True
        say(f"Installing Python packages of {requirements} (the first time this takes a minute or two)")
        if not self._uv.exists():
            self._pip("install", "--quiet", "--constraint", HERE / "constraints.txt", "uv")
        if self._uv_pip_install("--requirement", requirements):
            return True
        say("uv did not do it; pip tries.")
        return self._pip("install", "--requirement", requirements)

    def register(self):
        """Installs the metadata of client/python; its code stays where it is."""
        known = "import importlib.metadata as m; m.distribution('stoker')"
        return self._run([self.python, "-c", known], quiet=True) or self._pip(
            "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", CLIENT)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("lists", metavar="LIST", nargs="+", type=pathlib.Path)
    parser.add_argument("--python", default="python3", help="what makes it (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    environment = Environment(chosen.folder)
    done = environment.make(chosen.python) and all(map(environment.install, chosen.lists))
    return 0 if done and environment.register() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
