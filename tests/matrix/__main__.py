"""Runs what depends on PyTorch with several versions of it, and prints one table.

usage: python3 -m matrix [--environments] [--short] [--reports FOLDER] [--here | VERSION[@PYTHON]...]

--environments makes the environments of the rows, and runs nothing. --here is one row: the interpreter that runs this,
with the PyTorch that it has; nothing is installed. --short runs each road once and a fifth of the tests of mapping and
frontend, and is not remembered. Rows of a whole run are, in build/matrix/results.json; those without a failure also in
captures/trust/tested.json, and in README.md's table.
"""

import argparse
import datetime
import os
import pathlib
import subprocess
import sys
import time

import count
from matrix import plan, results, tested

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = ROOT / "docker" / "torch"
# What --short runs of the groups that cost much: each road once.
SHORT = {
    "warm starts": [
        "e2e/test_warm_table.py::test_what_does_not_matter_starts_warm",
        "e2e/test_warm.py::test_second_process_of_models_traces_nothing",
        "e2e/test_warm.py::test_second_process_of_every_kind_of_call_traces_nothing"],
    "models": ["e2e/test_models.py::test_models[float32-1]"],
    "training": [
        "e2e/test_training.py::test_training_steps_equal_eager",
        "e2e/test_training.py::test_dynamo_does_not_trace_the_compiler_of_a_backward_pass"],
    "operators": ["e2e/test_op_samples.py::test_operator_equals_eager"],
}
SHORT_ARGUMENTS = ["-p", "matrix.sample", "--one-in", "5"]


def commit_of_tree():
    """Its name; None for a tree that came without its history."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else None


def rows_of(wanted):
    """The rows that arguments ask for, of what this machine has."""
    default = plan.version_of("python3")
    if default is None:
        raise plan.BadRequest("python3 is no CPython that makes environments.")
    return plan.rows(
        wanted, plan.versions(TORCH), ".".join(map(str, default)),
        plan.interpreters(plan.candidates(os.environ)))


def environment_of(row):
    """The interpreter of a row's environment, which is made if need be; None if that fails."""
    if row.is_made:
        return row.interpreter
    folder = pathlib.Path(os.environ.get("STOKER_VENVS") or ROOT / ".venvs").absolute() / row.name
    made = subprocess.run([
        sys.executable, ROOT / "docker" / "environment.py", "--python", row.interpreter, folder,
        TORCH / f"{row.version}.txt"])
    return folder / "bin" / "python" if made.returncode == 0 else None


def run(row, python, report, short):
    """(exit status, seconds of the tests) of one row."""
    if python is None:
        return 1, 0.0
    groups = {**results.GROUPS, **SHORT} if short else results.GROUPS
    chosen = [ROOT / "tests" / path for group in groups.values() for path in group]
    print(f"== PyTorch {row.version}, Python {row.python}", file=sys.stderr, flush=True)
    start = time.monotonic()
    done = subprocess.run(
        [python, ROOT / "tests" / "run_pytest.py", report, "-q", *(SHORT_ARGUMENTS if short else []), *chosen],
        cwd=ROOT,
        env={**os.environ, "STOKER_TEST_CAPTURES": "trial"})  # As if it had been tested: that is found out.
    return done.returncode, time.monotonic() - start


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev matrix", description=__doc__.splitlines()[0])
    parser.add_argument("wanted", metavar="VERSION[@PYTHON]", nargs="*")
    parser.add_argument("--short", action="store_true", help="each road once, and a fifth of mapping and frontend")
    parser.add_argument("--here", action="store_true", help="this interpreter and its PyTorch alone")
    parser.add_argument("--reports", type=pathlib.Path, default=ROOT / "build" / "matrix" / "reports")
    parser.add_argument("--environments", action="store_true", help="make the environments, and run nothing")
    chosen = parser.parse_args(arguments)
    if chosen.here and chosen.wanted:
        parser.error(f"--here is one row; {chosen.wanted[0]} is another.")
    try:
        rows = [plan.row_of(sys.executable)] if chosen.here else rows_of(chosen.wanted)
    except plan.BadRequest as error:
        parser.error(str(error))

    if chosen.environments:
        return int(None in list(map(environment_of, rows)))
    commit = commit_of_tree()
    lines, entries, statuses = [], [], []
    for row in rows:
        report = (chosen.reports / f"{row.name}.xml").absolute()
        report.unlink(missing_ok=True)  # One of an earlier run would be counted.
        python = environment_of(row)
        status, seconds = run(row, python, report, chosen.short)
        groups = results.by_group(report)
        lines.append((str(row), groups, seconds))
        statuses.append((report, status))
        if status == 0 and not chosen.short:
            passed = sum(counts["passed"] for counts in groups.values())
            tested.remember(python, passed, datetime.date.today().isoformat())
        entries.append({
            "version": row.version, "python": row.python, "groups": groups, "commit": commit,
            "date": datetime.date.today().isoformat()})
    if not chosen.short:
        results.remember(ROOT / "build" / "matrix" / "results.json", entries)
    print("\n".join(results.table(lines)))
    return count.report(0, 0, statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
