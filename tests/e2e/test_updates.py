"""Inputs that a function changes in place are changed by its kernels, in the process that compiles and in one that starts
warm; what a caller sees is what eager PyTorch shows."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


def run(site, scenario):
    job = pathlib.Path(__file__).with_name("updates_job.py")
    done = subprocess.run(
        [forked.python(), str(job), scenario], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] == [], result
    assert "graphs_eager" not in result["counters"], result
    return result


def runs(site, scenario):
    """In a process that compiles, and in one that finds it all."""
    cold = run(site, scenario)
    compiles = site.stats()["compiles"]
    warm = run(site, scenario)
    assert site.stats()["compiles"] == compiles
    assert warm["labels"] == cold["labels"]
    return cold


def test_statistics_of_a_batch_norm_change_in_place(site):
    result = run(site, "batch_norm")
    assert result["updates"] == [6, 0]


def test_an_optimizer_changes_all_its_states_in_place(site):
    result = runs(site, "optimizer")
    assert result["updates"] == [13]
    assert not any(label.startswith("copy") for label in result["labels"]), result["labels"]


def test_a_row_of_a_cache_costs_a_row(site):
    result = runs(site, "cache")
    scatters = [place for place, label in enumerate(result["labels"]) if label.startswith("scatter")]
    assert len(scatters) == 2
    assert all(result["bytes"][place] < 3 * 4 * 16 * 4 * 3 for place in scatters), result
    assert not any(label.startswith("copy") for label in result["labels"]), result["labels"]


def test_an_assignment_costs_what_it_writes(site):
    result = runs(site, "assignment")
    assert [label.split()[0] for label in result["labels"]] == ["scatter", "scatter"], result["labels"]


@pytest.mark.parametrize("scenario", ["views", "views_in_training", "memory", "memory_that_parts"])
def test_what_lies_in_memory_of_inputs_that_change_is_as_in_eager(site, scenario):
    run(site, scenario)
    run(site, scenario)


@pytest.mark.parametrize("scenario", ["aliases", "bounds", "autograd", "sizes"])
def test_callers_see_what_eager_shows(site, scenario):
    runs(site, scenario)
