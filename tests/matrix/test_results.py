"""matrix/results.py: cases go into their groups, and earlier rows stay."""

import json
import pathlib
import re

import pytest
from matrix import results

CASES = """<testsuites><testsuite>
<testcase classname="e2e.test_warm" name="a" time="1.5"/>
<testcase classname="e2e.test_warm_table" name="b" time="1"><failure/></testcase>
<testcase classname="conformance.torch.test_operators" name="c" time="2"><skipped/></testcase>
<testcase classname="conformance.torch.test_operators" name="d" time="2"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize("classname, group", [
    ("unit.client.python.test_gate", "frontend"),
    ("e2e.test_warm", "warm starts"),
    ("e2e.test_warm_table", "warm starts"),
    ("e2e.test_warmth", None),
    ("e2e.test_models.SomeClass", "models"),
])
def test_GroupOf_ClassName_IsThatOfItsFile(classname, group):
    assert results.group_of(classname) == group


def test_GROUPS_Paths_AreThere():
    tests = pathlib.Path(__file__).resolve().parents[1]
    assert [path for paths in results.GROUPS.values() for path in paths if not (tests / path).exists()] == []


def test_Table_Rows_CountsOfEachGroup(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(CASES)
    lines = results.table([
        ("2.11@3.11", results.by_group(report), 9.0),
        ("2.12@3.11", results.by_group(tmp_path / "none.xml"), 0.0)])
    assert [re.split("  +", line) for line in lines] == [
        ["passed/failed/skipped", "warm starts", "mapping", "all"],
        ["2.11@3.11", "1/1/0, 2 s", "1/0/1, 4 s", "2/1/1, 9 s"],
        ["2.12@3.11", "-", "-", "0/0/0, 0 s"]]


def test_Remember_RowsOfOtherVersions_Stay(tmp_path):
    path = tmp_path / "matrix" / "results.json"
    for version, commit in (("2.15", "a"), ("2.11", "a"), ("2.15", "b")):
        results.remember(path, [{"version": version, "python": "3.11", "commit": commit}])
    assert [(row["version"], row["commit"]) for row in json.loads(path.read_text())] == [
        ("2.11", "a"), ("2.15", "b")]
