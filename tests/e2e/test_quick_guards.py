"""The process that records a capture uses its guards, before Dynamo's."""

import json
import pathlib
import subprocess

from e2e import forked


def test_guards_where_a_capture_was_recorded(site):
    job = pathlib.Path(__file__).with_name("quick_guards_job.py")
    done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["right"] and result["freed"] and result["equal code"]
    # How often Dynamo's guards were asked, and held: once when they are made, once more for each entry that does not hold.
    # FACTOR is one number at first, then any; the second entry serves both.
    assert result["asked"] == [[1, 1], [2, 1], [0, 0], [0, 0], [3, 1], [4, 1]]
    why = ["G['FACTOR'] == 2.0", "self.shift == 1.0", "dispatch key set"]
    assert len(result["reasons"]) == len(why)
    assert all(reason in text for reason, text in zip(why, result["reasons"]))
