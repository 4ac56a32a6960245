"""The road to a GPU on a host without one: a daemon compiles for any, and the fake driver notes what it is to launch."""

import json
import re
import subprocess
import sys

import pytest
from e2e.conftest import BUILD, ROOT

JOB = str(ROOT / "tests" / "e2e" / "cuda_job.py")
FAKE_DRIVER = BUILD / "tests" / "unit" / "runtime" / "cuda" / "libfake_cuda.so"
TARGETS = ("cuda/sm_80", "cuda/sm_86", "cuda/sm_89", "cuda/sm_90a", "cuda/sm_100a", "cuda/sm_120")
NO_ASSEMBLER = {"STOKER_NVJITLINK": "/nowhere/libnvJitLink.so.13"}


@pytest.fixture
def manifest(site, tmp_path):
    """Of requests for one target."""
    def make(*targets):
        path = tmp_path / "job.manifest"
        subprocess.run([sys.executable, JOB, "record", *targets], check=True,
                       env={**site.env, "STOKER_RECORD": str(path)})
        return path
    return make


def warm(site, path, status=0):
    done = subprocess.run([str(BUILD / "bin" / "stoker"), "warm", str(path), "--json"], env=site.env,
                          capture_output=True, text=True, timeout=300)
    if "need nvJitLink" in done.stderr and not site.env.get("STOKER_NVJITLINK"):
        pytest.skip("This machine has no nvJitLink.")
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def artifacts(site):
    """Of each target, the digest of its artifact."""
    return {entry["target"]: entry["artifact"] for entry in json.loads(site.tool("ls", "--json"))}


def test_a_daemon_compiles_for_any_gpu_twice_the_same(site, manifest):
    path = manifest(*TARGETS)
    summary, _ = warm(site, path)
    assert (summary["compiled"], summary["failed"]) == (len(TARGETS), 0)
    first = artifacts(site)
    assert set(first) == set(TARGETS)
    site.tool("purge", "--namespace", "default", "--yes")
    assert artifacts(site) == {}
    warm(site, path)
    assert artifacts(site) == first


def test_inspect_shows_ptx_blocks_and_threads(site, manifest):
    warm(site, manifest("cuda/sm_90a"))
    key = json.loads(site.tool("ls", "--json"))[0]["key"]
    assembly = site.tool("inspect", key, "--section", "asm")
    assert re.search(r"\.entry stoker_[a-z0-9_]+_1\(", assembly)
    assert re.search(r"# \d+ registers and 0 bytes of local memory a thread", assembly)
    plan = site.tool("inspect", key, "--section", "plan")
    assert re.search(r"\d+ blocks of \d+ threads", plan) and 'host call "f"' in plan


def test_without_nvjitlink_the_host_is_named_and_nothing_is_remembered(site, manifest):
    site.env.update(NO_ASSEMBLER)
    path = manifest("cuda/sm_90a")
    for _ in range(2):
        summary, said = warm(site, path, status=1)
        assert summary["failed"] == 1
        assert "need nvJitLink" in said and NO_ASSEMBLER["STOKER_NVJITLINK"] in said
    stats = site.stats()
    assert stats["compile_failure_classes"] == {"host": 2}
    assert stats["diagnostics_served"] == 0


def test_without_a_driver_a_job_is_told(site):
    done = subprocess.run([sys.executable, "-c", (
        "from stoker.libstoker import library\n"
        "library.take_text(library.load().stoker_device_target, b'cuda:0')")],
        env=site.env, capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        pytest.skip("This machine has a GPU.")
    assert "unavailable: " in done.stderr and "CUDA driver" in done.stderr


def parameters_of(line):
    """(blocks, threads, parameters, stream, gpu) of a launch that the driver notes."""
    found = re.fullmatch(r"launch (\d+)x(\d+) \(([\d ]*)\) stream (\d+) gpu (\d+)", line)
    assert found, line
    blocks, threads, parameters, stream, gpu = found.groups()
    return int(blocks), int(threads), [int(p) for p in parameters.split()], int(stream), int(gpu)


def test_two_gpus_share_one_compile_and_run_on_the_callers_streams(site, manifest, tmp_path):
    warm(site, manifest("cuda/sm_90a"))  # Skips where nothing can be compiled.
    compiles = site.stats()["compiles"]
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(FAKE_DRIVER)
    done = subprocess.run([sys.executable, JOB, "run"], env={**site.env, "LD_LIBRARY_PATH": str(folder)},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["target"] == "cuda/sm_90a"
    first, second = result["runs"]
    assert first["key"] == second["key"] and second["source"] == "memory"
    assert site.stats()["compiles"] == compiles
    for gpu, run in enumerate((first, second)):
        assert run["device"] == f"cuda:{gpu}"
        assert not run["waited"]
        (operand, written, *sizes, _), = run["calls"]
        assert sizes == [8, 16]
        launches = [parameters_of(line) for line in run["log"] if line.startswith("launch")]
        assert [(stream, where) for *_, stream, where in launches] == [(launches[0][3], gpu)] * 2
        assert launches[0][3] > 0
        assert launches[0][2] == [run["x"], operand]
        assert sorted(launches[1][2]) == sorted([written, run["w"], run["z"]])
        assert launches[1][2][-1] == run["z"]
    assert first["memory"] == []
    assert second["memory"] == [["take", 1, second["stream"]], ["give back", 1, second["stream"]]]
