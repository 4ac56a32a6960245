"""One artifact for all sizes: sequences of many lengths, in one process and in the next."""

import json
import pathlib
import random
import subprocess

import pytest
from e2e import forked

HERE = pathlib.Path(__file__).parent


def run_job(site, job, lengths):
    done = subprocess.run(
        [forked.python(), str(HERE / job), *map(str, lengths)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run(site, lengths, *what):
    result = run_job(site, "sizes_job.py", [*what, *lengths])
    assert result["fallbacks"] == {} and "graphs_eager" not in result["counters"]
    assert max(result["errors"].values()) <= 1e-5, result["errors"]
    return result


def test_one_artifact_serves_forty_lengths_and_the_next_process(site):
    lengths = random.Random(7).sample(range(2, 513), 40)
    first = run(site, lengths, "bert")
    assert [program["segments"] for program in first["programs"]] == [1]
    assert first["counters"]["captures.recorded"] == 1
    assert site.stats()["compiles"] == 1

    others = [length for length in (2, 3, 16, 17, 64, 100, 509, 511, 512) if length not in lengths]
    second = run(site, others, "bert")
    assert second["traced"] == {}
    assert [program["captured"] for program in second["programs"]] == [True]
    assert set(second["counters"]) == {"graphs", "captures.hit", "bindings"}
    assert site.stats()["compiles"] == 1


def test_masks_that_follow_from_lengths_keep_no_artifact_from_serving_all(site):
    first = run(site, [24, 9, 65, 2, 40], "gpt2")
    assert [program["segments"] for program in first["programs"]] == [1]
    assert site.stats()["compiles"] == 1
    second = run(site, [33, 7], "gpt2")
    assert second["traced"] == {} and [program["captured"] for program in second["programs"]] == [True]
    assert site.stats()["compiles"] == 1


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_training_by_many_lengths_is_one_program_each_way(site, name):
    result = run(site, [24, 9, 65, 2, 40], name, "train")
    assert [program["segments"] for program in result["programs"]] == [1, 1]
    assert site.stats()["compiles"] == 2


def test_numbers_that_are_too_much_are_eagers_and_nothing_is_lost(site):
    """A type that does not hold one raises, a division by zero is the program's, and what 64 bits do not hold Python computes."""
    done = subprocess.run(
        [forked.python(), str(HERE / "numbers_job.py")], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"wrong": [], "lost": 0}
    assert "bug in Stoker" not in done.stderr


def run_in_parts(site, lengths):
    result = run_job(site, "parts_job.py", lengths)
    assert result["wrong"] == [] and result["fallbacks"] == ["aten.igamma.default"], result
    assert "graphs_eager" not in result["counters"]
    return result


def test_what_needs_numbers_is_compiled_for_each_length_and_the_rest_once(site):
    lengths = [24, 9, 40, 17]
    first = run_in_parts(site, lengths)
    assert first["graphs"] == 1 + len(lengths)
    compiles = site.stats()["compiles"]
    second = run_in_parts(site, lengths[::-1])
    assert second["traced"] == {} and second["graphs"] == first["graphs"]
    assert site.stats()["compiles"] == compiles
    third = run_in_parts(site, [31])  # In a process that has traced nothing, numbers of rows make a difference.
    assert third["traced"] == {} and third["graphs"] == 3
    assert site.stats()["compiles"] == compiles + 2
