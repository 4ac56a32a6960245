"""run_pytest.py and slowest.py, on tests made for it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import run_pytest
from count import outcomes
from e2e import forked
from slowest import slowest

TESTS = pathlib.Path(__file__).parent


def run(folder, text):
    """(exit status, report) of a folder with one file of tests."""
    (folder / "test_it.py").write_text("import os, pytest\n" + text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    alone: x\n")
    report = folder / "reports" / "report.xml"
    # This test itself may run in a process of xdist.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env[forked.VARIABLE] = sys.executable  # No servers are started for it.
    done = subprocess.run(
        [sys.executable, TESTS / "run_pytest.py", report, "-q", folder], cwd=folder, env=env,
        capture_output=True, timeout=300)
    return done.returncode, report


PARALLEL = "def test_parallel():\n    assert 'PYTEST_XDIST_WORKER' in os.environ\n"
ALONE = "@pytest.mark.alone\ndef test_alone():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n"


@pytest.mark.parametrize("text, status, expected", [
    (PARALLEL + ALONE, 0, (2, 0, 0)),
    (PARALLEL, 0, (1, 0, 0)),
    (ALONE, 0, (1, 0, 0)),
    (PARALLEL + ALONE.replace("not in", "in"), 1, (1, 1, 0)),
    ("raise ValueError", 1, (0, 2, 0)),
])
def test_Main_Outcomes_OneReportOfBothRuns(tmp_path, text, status, expected):
    found, report = run(tmp_path, text)
    assert (found, outcomes(report)) == (status, expected)


def test_Main_FileThatIsTogether_OneProcessRunsAllOfIt(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    status, report = run(tmp_path, (
        "pytestmark = pytest.mark.together\n"
        "@pytest.fixture(scope='module')\n"
        "def made(request):\n    open(request.path.with_name('made'), 'x')\n"
        "@pytest.mark.parametrize('number', range(12))\n"
        "def test_it(made, number):\n    pass\n"))
    assert (status, outcomes(report)) == (0, (12, 0, 0))


def test_Main_FileWithNoneThatIsAlone_IsReadOnlyInTheRunOfTheOthers(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_other.py").write_text(
        "import os\n" "assert 'PYTEST_XDIST_WORKER' in os.environ\n" "def test_other():\n    pass\n")
    status, report = run(tmp_path, PARALLEL + ALONE)
    assert (status, outcomes(report)) == (0, (3, 0, 0))


@pytest.mark.parametrize("processors, gibibytes, expected", [
    (2, 5.9, 2), (2, 6, 3), (1, 3, 1), (1, 4, 2), (15, 100, 16), (16, 100, 16), (64, 500, 16)])
def test_NumberOfProcesses_Memory_OneMoreThanProcessorsWhereThereIsSome(processors, gibibytes, expected):
    assert run_pytest.number_of_processes(processors, gibibytes * 2**30) == expected


def test_AvailableBytes_ThisMachine_IsAPartOfItsMemory(tmp_path):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < run_pytest.available_bytes() <= total
    (tmp_path / "meminfo").write_text("MemTotal:       24000 kB\nMemAvailable:    3 kB\nHugePages_Total:       0\n")
    assert run_pytest.available_bytes(tmp_path / "meminfo") == 3072


def test_Slowest_Reports_TenOfAllThatAreThere(tmp_path):
    for name, seconds in (("a", range(9)), ("b", range(9, 18))):
        (tmp_path / name).write_text("<testsuite>" + "".join(
            f'<testcase classname="{name}" name="{each}" time="{each}"/>' for each in seconds) + "</testsuite>")
    (tmp_path / "broken").write_text("<testsuite>")
    found = slowest([tmp_path / name for name in ("a", "none", "broken", "b")])
    assert [seconds for seconds, _ in found] == list(range(17, 7, -1))
    assert found[0][1] == "b 17" and found[-1][1] == "a 8"
