"""Code for GPUs of NVIDIA is made on hosts without one, where nvJitLink is; a host without it says so."""

import json
import re
import subprocess

import pytest
from bench import images
from e2e.processes import BUILD, POINTWISE, record


def stoker(site, *arguments, **env):
    return subprocess.run(
        [str(BUILD / "bin" / "stoker"), *map(str, arguments)], env={**site.env, **env}, capture_output=True,
        text=True, timeout=600)


@pytest.fixture
def manifest(site, tmp_path):
    """Of a job that asked for one graph, for this processor."""
    record(site, POINTWISE, tmp_path / "job.manifest")
    return tmp_path / "job.manifest"


@pytest.fixture
def other(daemon, tmp_path):
    """Starts a daemon that looks for nvJitLink in one place, and has seen nothing of the job."""
    (tmp_path / "other").mkdir()
    return lambda path: daemon("--nvjitlink", str(path), folder=tmp_path / "other")


def metric(daemon, text):
    return re.search(rf"^{re.escape(text)} (\d+)$", daemon.call("GET", "/metrics")[1].decode(), re.MULTILINE)[1]


@pytest.mark.skipif(images.nvjitlink() is None, reason="nvidia-nvjitlink is not in this Python environment")
def test_a_manifest_is_compiled_for_gpus_and_processors_on_a_host_without_a_gpu(site, manifest, other):
    url = {"STOKER_URL": (daemon := other(images.nvjitlink())).url}
    targets = ("--target", "cuda/sm_90a", "--target", "cpu/x86-64-v4")
    done = stoker(site, "warm", manifest, *targets, "--json", **url)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compiled"] == 2
    assert stoker(site, "warm", manifest, *targets, "--check", **url).returncode == 0
    listed = json.loads(stoker(site, "ls", "--json", **url).stdout)
    assert sorted(entry["target"] for entry in listed) == ["cpu/x86-64-v4", "cuda/sm_90a"]
    assert daemon.status()["workers"]["target_kinds"] == ["cpu", "cuda"]
    assert metric(daemon, 'stoker_target_kind_available{kind="cuda"}') == "1"
    assert re.search("compiles for +cpu, cuda$", stoker(site, "doctor", **url).stdout, re.MULTILINE)


def test_a_daemon_without_nvjitlink_says_so_each_time_and_compiles_for_processors(site, manifest, other, tmp_path):
    url = {"STOKER_URL": (daemon := other(tmp_path / "libnvJitLink.so.13")).url}
    for asked in 1, 2:  # What a host lacks is not remembered: it may come.
        done = stoker(site, "warm", manifest, "--target", "cuda/sm_90a", "--target", "cpu/x86-64-v4", **url)
        assert done.returncode == 1
        assert "for cuda/sm_90a fails" in done.stderr
        for named in "nvJitLink", "STOKER_NVJITLINK", "CUDA_HOME", str(tmp_path):
            assert named in done.stderr
        stats = daemon.status()["stats"]
        assert stats["compile_failure_classes"] == {"host": asked}
        assert (stats["compiles"], stats["diagnostics_served"]) == (1, 0)
    assert daemon.status()["workers"]["target_kinds"] == ["cpu"]
    assert metric(daemon, 'stoker_target_kind_available{kind="cuda"}') == "0"
    assert re.search("compiles for +cpu$", stoker(site, "doctor", **url).stdout, re.MULTILINE)


@pytest.mark.parametrize("target, why", [
    ("cuda/sm90", "no CUDA architecture such as sm_90a"), ("gpu", "must start with cpu/ or cuda/"),
    ("cuda/sm_90a+fp16", "a CUDA target has no features")])
def test_a_target_that_is_none_is_refused_by_name(site, manifest, target, why):
    done = stoker(site, "warm", manifest, "--target", target)
    assert done.returncode == 1 and why in done.stderr and f"'{target}'" in done.stderr
