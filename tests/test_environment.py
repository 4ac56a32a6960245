"""docker/environment.py: what is there is not installed again, and without uv pip does it."""

import importlib.util
import pathlib

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "environment", pathlib.Path(__file__).parents[1] / "docker" / "environment.py")
environment = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(environment)


class Commands:
    """Stands for the system: remembers commands, of which those with a word of `failing` fail."""

    def __init__(self, folder, *failing):
        self.folder = folder
        self.failing = failing
        self.done = []

    def __call__(self, command, quiet=False, env=None):
        words = [str(word) for word in command]
        tool = "uv" if words[0].endswith("uv") else "pip" if "pip" in words else "python"
        kind = "check" if "--dry-run" in words else "uv" if words[-1] == "uv" else words[-1]
        self.done.append(f"{tool} {kind}")
        if {tool, kind, self.done[-1]} & set(self.failing):
            return False
        if self.done[-1] == "pip uv":
            self.add_uv()
        return True

    def add_uv(self):
        (self.folder / "bin").mkdir(parents=True, exist_ok=True)
        (self.folder / "bin" / "uv").touch()


@pytest.mark.parametrize("has_uv, failing, expected, outcome", [
    (True, [], ["uv check"], True),
    (False, [], ["pip check"], True),
    (True, ["check"], ["uv check", "uv list.txt"], True),
    (False, ["check"], ["pip check", "pip uv", "uv list.txt"], True),
    (False, ["check", "pip uv"], ["pip check", "pip uv", "pip list.txt"], True),
    (True, ["uv"], ["uv check", "uv list.txt", "pip list.txt"], True),
    (True, ["check", "list.txt"], ["uv check", "uv list.txt", "pip list.txt"], False),
])
def test_Install_WhatIsThereAndWhatFails_TakesTheNextWay(tmp_path, has_uv, failing, expected, outcome):
    commands = Commands(tmp_path, *failing)
    if has_uv:
        commands.add_uv()
    assert environment.Environment(tmp_path, commands).install("list.txt") is outcome
    assert commands.done == expected


def test_Make_FolderWithPip_IsLeftAlone(tmp_path):
    commands = Commands(tmp_path)
    made = environment.Environment(tmp_path, commands)
    assert made.make("python3.12")
    assert commands.done == [f"python {tmp_path}"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pip").touch()
    assert made.make("python3.12") and len(commands.done) == 1


@pytest.mark.parametrize("variables, index", [
    ({}, None),
    ({"PIP_INDEX_URL": "a"}, "a"),
    ({"PIP_INDEX_URL": "a", "UV_DEFAULT_INDEX": "b"}, "b"),
])
def test_UvVariables_IndexOfPip_IsTakenUnlessUvHasItsOwn(variables, index):
    found = environment.uv_variables(variables)
    assert found.get("UV_DEFAULT_INDEX") == index
    assert found["UV_SYSTEM_CERTS"] == "1"
    assert environment.uv_variables({"UV_SYSTEM_CERTS": "0"})["UV_SYSTEM_CERTS"] == "0"
