"""Loops of graphs (while_loop, scan) run as one artifact, in the process that compiles and in the next."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


def run(site, scenario):
    job = pathlib.Path(__file__).with_name("loops_job.py")
    done = subprocess.run(
        [forked.python(), str(job), scenario], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] == [], result
    return result


@pytest.mark.parametrize("scenario", ["whiles", "scans"])
def test_loops_equal_python_and_are_compiled_for_all_processes(site, scenario):
    first = run(site, scenario)
    compiles = site.stats()["compiles"]
    second = run(site, scenario)
    assert site.stats()["compiles"] == compiles > 0
    for result in (first, second):
        assert result["fallbacks"] == {} and "graphs_eager" not in result["counters"], result
        assert set(result["segments"]) == {1}
    assert second["counters"] == {"captures.hit": len(first["segments"]), "graphs": len(first["segments"])}


def test_a_scan_is_trained_as_in_eager(site):
    result = run(site, "training")
    assert result["fallbacks"] == {} and "graphs_eager" not in result["counters"], result


def test_loops_over_sizes_that_vary_are_compiled_for_each(site):
    result = run(site, "sizes")
    assert result["fallbacks"] == {} and "graphs_eager" not in result["counters"], result


def test_what_a_body_has_no_kernel_for_is_named_in_every_process(site):
    first, second = run(site, "refused"), run(site, "refused")
    assert first["fallbacks"].keys() == second["fallbacks"].keys() == {"while_loop"}, (first, second)
    assert second["counters"] == {"captures.hit": 1, "graphs": 1}
