"""What a daemon without a GPU compiles of PyTorch programs for one."""

import json
import os
import pathlib
import subprocess

import pytest
from e2e import forked
from e2e.test_recorded import warm
from stoker.libstoker import library

TARGETS = ("cuda/sm_80", "cuda/sm_89", "cuda/sm_90a", "cuda/sm_100a")


@pytest.mark.skipif(library.find_assembler() is None, reason="this PyTorch brings no nvJitLink")
def test_programs_are_compiled_for_gpus_that_are_not_there(site, tmp_path):
    job, manifest = pathlib.Path(__file__).with_name("cuda_requests_job.py"), tmp_path / "job.manifest"
    paths = os.pathsep.join([str(job.parents[1]), site.env.get("PYTHONPATH", "")])
    env = site.env | {"STOKER_RECORD": str(manifest), "PYTHONPATH": paths}
    done = subprocess.run([forked.python(), str(job)], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: segments for name, (segments, *_) in found.items()} == dict.fromkeys(found, 1)
    assert found["unet_block"][1] == 2  # Convolutions; without a GPU PyTorch takes attention apart.
    for target in TARGETS:
        summary = warm(
            site, manifest, "--target", target, STOKER_NVJITLINK=str(library.find_assembler()))
        assert (summary["compiled"], summary["failed"]) == (len(found), 0), summary
