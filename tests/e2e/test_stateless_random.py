"""Random numbers that follow from a key, in kernels: the bits of eager PyTorch, through the daemon, for sizes that vary too."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked

pytest.importorskip("torch.func._random", reason="This PyTorch has no generator without a state.")


def test_numbers_are_eagers(site):
    job = str(pathlib.Path(__file__).with_name("stateless_random_job.py"))
    for _ in range(2):  # Compiled, and found.
        done = subprocess.run(
            [forked.python(), job], env=site.env, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert found["wrong"] == [] and found["fallbacks"] == {}
        assert set(found["segments"]) == {1} and found["counted"] == 1
