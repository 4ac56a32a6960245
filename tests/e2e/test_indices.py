"""Indices out of bounds raise in compiled code, in a process that records captures and in one that finds them."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


@pytest.mark.parametrize("captures", ["on", "off"])
def test_indices_out_of_bounds_raise(site, captures):
    if captures == "off":
        site.env["STOKER_CAPTURES"] = "off"
    job = pathlib.Path(__file__).with_name("indices_job.py")
    for start in ("first", "second"):
        done = subprocess.run(
            [forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["wrong"] == [], start
        # It was compiled code that raised, every time.
        assert "graphs_eager" not in result["counters"]
    if captures == "on" and site.env.get("STOKER_CAPTURES", "on") == "on":
        assert result["counters"].get("captures.hit", 0) >= 1, result["counters"]
