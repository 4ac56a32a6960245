"""matrix/tested.py: the record of tested installations and README's table."""

import json

from matrix import tested

FIRST = {"torch": "2.11.0", "python": "3.11.7", "passed": 900, "date": "2026-11-22"}
SECOND = {"torch": "2.15.0", "python": "3.11.7", "passed": 901, "date": "2026-11-22"}


def test_WithEntry_SameVersions_OneGivesWay():
    record = tested.with_entry({"b": SECOND, "a": FIRST}, ["c", "2.15.0", "3.11.9"], 950, "2026-12-01")
    assert record == {
        "a": FIRST, "c": {"torch": "2.15.0", "python": "3.11.9", "passed": 950, "date": "2026-12-01"}}


def test_WithEntry_OtherPython_BothStay():
    record = tested.with_entry({"b": SECOND}, ["c", "2.15.0", "3.9.1"], 950, "2026-12-01")
    assert list(record) == ["c", "b"]


def test_ReadmeWith_Record_TableBetweenItsLines():
    text = f"before\n{tested.BEGIN}\nold\n{tested.END}\nafter\n"
    made = tested.readme_with(text, {"a": FIRST, "b": SECOND})
    assert made.startswith("before\n") and made.endswith("\nafter\n") and "old" not in made
    assert made.index("2.15.0") < made.index("2.11.0")
    assert tested.readme_with(made, {"a": FIRST, "b": SECOND}) == made


def test_Readme_Table_IsWhatTheRecordGives():
    record = json.loads(tested.RECORD.read_text())
    text = tested.README.read_text()
    assert tested.readme_with(text, record) == text
