"""matrix/plan.py: which rows arguments give."""

import importlib.metadata
import pathlib
import sys

import pytest
from matrix import plan

KNOWN = ["2.9", "2.14", "2.15"]
OTHERS = {"3.11": "/a/python3.11", "3.13": "/a/python3.13"}


@pytest.mark.parametrize("wanted, expected", [
    (["2.9"], ["2.9@3.11"]),
    (["2.9@3.13", "2.14"], ["2.9@3.13", "2.14@3.11"]),
    (["2.15@3.13"], ["2.15@3.13"]),
    (["2.15"], ["2.15@3.11", "2.15@3.13"]),
    (["2.9", "2.9@3.11"], ["2.9@3.11"]),
    ([], ["2.9@3.11", "2.14@3.11", "2.15@3.11", "2.15@3.13"]),
])
def test_Rows_Arguments_GiveVersionsAndInterpreters(wanted, expected):
    rows = plan.rows(wanted, KNOWN, "3.11", OTHERS)
    assert list(map(str, rows)) == expected
    assert {row.interpreter for row in rows if row.python == "3.11"} <= {"python3"}


@pytest.mark.parametrize("wanted, there", [
    ("2.10", "2.9, 2.14, 2.15"), ("2.15@3.12", "3.11, 3.13"), ("", "2.9, 2.14, 2.15")])
def test_Rows_UnknownVersion_SaysWhatThereIs(wanted, there):
    with pytest.raises(plan.BadRequest, match=there):
        plan.rows([wanted], KNOWN, "3.11", OTHERS)


def test_Versions_Folder_OrdersByNumber(tmp_path):
    for name in ("2.15.txt", "2.9.txt", "2.10.txt", "README.md"):
        (tmp_path / name).touch()
    assert plan.versions(tmp_path) == ["2.9", "2.10", "2.15"]


def test_Interpreters_Candidates_FirstThatStartsOfEachVersion(tmp_path):
    places = ["one/python3.12", "two/python3.12", "one/python3.10", "two/python3.14", "one/python3.12-config"]
    for place in places:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    (tmp_path / "home/.pyenv/versions/3.13.0/bin").mkdir(parents=True)
    (tmp_path / "home/.pyenv/versions/3.13.0/bin/python3.13").touch()
    paths = plan.candidates({
        "PATH": f"{tmp_path}/one:{tmp_path}/none::{tmp_path}/two", "HOME": f"{tmp_path}/home"})
    broken = {f"{tmp_path}/one/python3.12", f"{tmp_path}/two/python3.14"}

    def version_of(path):
        return None if path in broken else tuple(plan.by_number(path.rpartition("python")[2]))

    assert {python: pathlib.Path(path).relative_to(tmp_path).parts[0] for python, path in
            plan.interpreters(paths, version_of).items()} == {"3.12": "two", "3.13": "home"}


def test_VersionOf_NoInterpreter_None(tmp_path):
    assert plan.version_of("false") is None
    assert plan.version_of(str(tmp_path / "none")) is None


def test_RowOf_ThisEnvironment_IsMade():
    row = plan.row_of(sys.executable)
    assert row.is_made and row.interpreter == sys.executable
    assert row.python == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert importlib.metadata.version("torch").startswith(row.version + ".")


def test_RowOf_NoPyTorch_SaysSo():
    with pytest.raises(plan.BadRequest, match="/false is no CPython with PyTorch"):
        plan.row_of("/bin/false")
