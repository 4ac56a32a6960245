"""count.py: no failure may be lost on its way into the closing line."""

import pytest

from count import main, total

PASS = '<testcase name="a"/>'
FAIL = '<testcase name="b"><failure message="no"/></testcase>'
ERROR = '<testcase name="c"><error message="no"/></testcase>'
SKIP = '<testcase name="d"><skipped/></testcase>'


def report(tmp_path, *cases):
    path = tmp_path / "report.xml"
    path.write_text("<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>")
    return path


@pytest.mark.parametrize("cases, status, expected", [
    ([PASS, PASS, SKIP], 0, (2, 0, 1)),
    ([PASS, FAIL, ERROR], 1, (1, 2, 0)),
    ([PASS], 1, (1, 1, 0)),  # The runner died after the last case.
    ([], 0, (0, 0, 0)),
])
def test_Total_Report_CountsCases(tmp_path, cases, status, expected):
    assert total(0, 0, [(report(tmp_path, *cases), status)]) == expected


@pytest.mark.parametrize("status", [0, 1])
def test_Total_ReportAbsent_CountsOneFailure(tmp_path, status):
    assert total(3, 0, [(tmp_path / "none.xml", status)]) == (3, 1, 0)


def test_Total_ReportTruncated_CountsOneFailure(tmp_path):
    path = report(tmp_path, PASS)
    path.write_text(path.read_text()[:30])
    assert total(0, 0, [(path, 0)]) == (0, 1, 0)


def test_Main_ChecksAndReport_PrintsClosingLine(tmp_path, capsys):
    path = report(tmp_path, PASS, SKIP)
    assert main(["2", "1", f"{path}=0"]) == 1
    assert capsys.readouterr().out == "3 passed, 1 failed, 1 skipped\n"
    assert main(["2", "0", f"{report(tmp_path, PASS)}=0"]) == 0
    assert capsys.readouterr().out == "3 passed, 0 failed\n"
