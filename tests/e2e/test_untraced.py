"""Each function of a program that ran in place of being traced counts as such, or the capture stays in its process, or
another process notices when what the function reads is changed; no result is wrong.
"""

import json
import pathlib
import subprocess

import pytest
from e2e import forked, untraced_programs
from e2e.test_warm_table import write

pytestmark = pytest.mark.together
JOB = pathlib.Path(__file__).with_name("untraced_job.py")


def start(site, folder, *options):
    done = subprocess.run(
        [forked.python(), str(JOB), *options, str(folder)], env={**site.env, "PYTHONHASHSEED": "1"}, capture_output=True, text=True,
        timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def first(make_site, tmp_path_factory):
    """(site, {name: row}) of a process that notes what runs untraced."""
    site = make_site()
    return site, start(site, write(tmp_path_factory.mktemp("first") / "rows", untraced_programs.rows(), 0))


@pytest.fixture(scope="module")
def second(first, tmp_path_factory):
    """{name: row} of another one, in which NUMBER is another one: of those programs of which something ran untraced that may
    start warm."""
    site, rows = first
    names = [
        name for name in untraced_programs.PROGRAMS
        if any(frame["ran"] and not frame["reason"] for frame in rows[f"row_{name}"]["frames"])]
    assert len(names) > 40
    return start(site, write(tmp_path_factory.mktemp("second") / "rows", untraced_programs.rows(names), 1), "--stop-at-misses")


def test_corpus_has_programs_of_every_kind():
    assert len(untraced_programs.PROGRAMS) >= 80
    assert all(text.count(untraced_programs.BEFORE) == 1 for _, text, _ in untraced_programs.rows())


@pytest.mark.parametrize("name", untraced_programs.PROGRAMS)
def test_what_runs_untraced_counts_or_is_noticed(first, second, name):
    row = first[1][f"row_{name}"]
    assert row["error"] <= 1e-4
    missed = [frame for frame in row["frames"] if frame["missed"]]
    again = second.get(f"row_{name}")
    assert again is None and missed == [] or again.get("error", 0) <= 1e-4
    assert missed == [] or again["starts"].get("hit") is None
