"""Every way to call a compiled function that calls.py lists gives what eager PyTorch gives."""

import json
import pathlib
import subprocess
from e2e import forked


def test_calls(site):
    table = pathlib.Path(__file__).with_name("calls.py")
    done = subprocess.run(
        [forked.python(), str(table)], env=site.env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["rows"] > 150
    assert result["failures"] == {}
    # Nothing ran in eager but single operators, each named once, and the row whose inputs lie in what it changes.
    assert "graphs_eager" not in result["counters"]
    shared = [warning for warning in result["warnings"] if "changes in place shares memory" in warning]
    assert len(shared) == 1 and len(result["warnings"]) == len(result["fallback_ops"]) + 1
    for operator in result["fallback_ops"]:
        assert sum(warning.startswith(f"{operator} runs in eager") for warning in result["warnings"]) == 1


def test_inputs_that_change_in_each_others_memory(site):
    job = pathlib.Path(__file__).with_name("overlaps_job.py")
    for _ in range(2):
        done = subprocess.run(
            [forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["wrong"] == [] and result["counters"]["calls_overlapping"] > 0
