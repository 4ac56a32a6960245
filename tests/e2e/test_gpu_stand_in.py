"""What runs programs on a GPU, with the cores in its place. tests/device/run is the same with a GPU."""

import json
import pathlib
import subprocess

from e2e import forked


def test_programs_run_as_on_a_gpu(site):
    job = pathlib.Path(__file__).with_name("gpu_stand_in_job.py")
    done = subprocess.run(
        [forked.python(), str(job)], env=site.env | {"STOKER_CAPTURES": "off"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] == [] and "graphs_eager" not in result["counters"], (result, done.stderr[-2000:])
    assert result["fallbacks"] == {}
