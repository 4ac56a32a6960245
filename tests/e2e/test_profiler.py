"""What PyTorch's profiler shows of compiled graphs."""

import collections
import json
import pathlib
import subprocess

from e2e import forked


def shown(site):
    job = pathlib.Path(__file__).with_name("profiler_job.py")
    done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    return collections.Counter(result["shown"]), result["keys"]


def test_each_call_has_the_key_of_its_artifact(site):
    cold, keys = shown(site)
    forward, backward = (
        next(key for key in keys if f"{kind} {key[:16]}" in cold) for kind in ("Stoker", "Stoker backward"))
    assert forward != backward
    assert cold == {f"Stoker {forward[:16]}": 3, f"Stoker backward {backward[:16]}": 3}
    warm, _ = shown(site)
    del warm["Stoker capture"]  # The whole frame, as Dynamo has it shown.
    assert warm == cold
    assert "==== graph ====" in site.tool("inspect", forward[:16])
