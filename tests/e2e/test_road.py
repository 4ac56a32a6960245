"""The road of one request with real models: PyTorch process, daemon, worker, cache, next process."""

import json
import os
import signal
import time

import pytest


def sources(result):
    return set(result["last"]["sources"])


@pytest.mark.parametrize("model", ["mlp", "gpt2", "bert", "resnet"])
def test_second_process_compiles_nothing(site, model):
    cold = site.run(model)
    assert cold["error"] <= 1e-5
    assert cold["repeats"]
    assert cold["warnings"] == []
    assert cold["last"]["fallback_ops"] == {}
    assert sources(cold) == {"compiled"}
    before = site.stats()

    warm = site.run(model)
    assert warm["error"] <= 1e-5
    assert sources(warm) <= {"memory", "disk"}
    after = site.stats()
    assert after["compiles"] == before["compiles"]
    assert after["misses"]["total"] == before["misses"]["total"]
    assert after["kernels"] == before["kernels"]
    assert after["compile_failures"] == 0
    assert after["fallback_ops"] == {}
    assert after["quarantined"] == 0
    assert after["hits"]["total"] == before["hits"]["total"] + cold["last"]["segments"]
    assert after["seconds_saved"] > before["seconds_saved"]


def test_other_weights_recompile_nothing(site):
    first = site.run("gpt2", 0)
    before = site.stats()
    second = site.run("gpt2", 1)
    assert second["error"] <= 1e-5
    after = site.stats()
    for counter in ("compiles", "kernels", "misses"):
        assert after[counter] == before[counter]
    assert sources(second) <= {"memory", "disk"}
    assert second["last"]["request_keys"] == first["last"]["request_keys"]


def test_other_width_recompiles_what_changed_and_explains_itself(site):
    first = site.run("mlp", 0, 64)
    second = site.run("mlp", 0, 96)
    assert second["error"] <= 1e-5
    assert sources(second) == {"compiled"}
    difference = site.tool(
        "key", "--explain", first["last"]["request_keys"][0], second["last"]["request_keys"][0])
    assert difference.startswith("First difference: graph")


def test_two_processes_at_once_compile_each_key_once(site):
    jobs = [site.start("bert"), site.start("bert")]
    results = [site.finish(job) for job in jobs]
    assert all(result["error"] <= 1e-5 for result in results)
    assert site.stats()["compiles"] == results[0]["last"]["segments"]


def test_statistics_and_cache_survive_a_restart(site):
    site.run("mlp")
    before = site.stats()
    site.stop()
    warm = site.run("mlp")
    assert sources(warm) == {"disk"}
    after = site.stats()
    assert after["compiles"] == before["compiles"]
    assert after["hits"]["total"] == before["hits"]["total"] + 1


@pytest.mark.parametrize("delay_s", [0.0, 0.3])
def test_daemon_killed_under_a_job_leaves_a_sound_cache(site, delay_s):
    site.run("mlp")  # A daemon is there.
    job = site.start("gpt2")
    time.sleep(3 + delay_s)
    os.kill(site.daemon_pid(), signal.SIGKILL)
    result = site.finish(job)
    assert result["error"] <= 1e-5
    again = site.run("gpt2")
    assert again["error"] <= 1e-5
    assert site.run("gpt2")["last"]["sources"][0] in ("memory", "disk")


def test_listing_and_inspection_name_the_graph(site):
    result = site.run("mlp")
    key = result["last"]["request_keys"][0]
    listed = json.loads(site.tool("ls", "--json"))
    assert [entry["key"] for entry in listed] == [key]
    text = site.tool("inspect", key[:12])
    for section in ("graph", "groups", "loops", "schedules", "plan", "llvm", "asm"):
        assert f"==== {section} ====" in text
