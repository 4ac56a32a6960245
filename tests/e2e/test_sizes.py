"""One artifact for all sizes: sequences of many lengths, in one process and in the next."""

import json
import pathlib
import random
import subprocess

from e2e import forked

JOB = pathlib.Path(__file__).with_name("sizes_job.py")


def run(site, lengths):
    done = subprocess.run(
        [forked.python(), str(JOB), *map(str, lengths)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["fallbacks"] == {} and "graphs_eager" not in result["counters"]
    assert max(result["errors"].values()) <= 1e-5, result["errors"]
    return result


def test_one_artifact_serves_forty_lengths_and_the_next_process(site):
    lengths = random.Random(7).sample(range(2, 513), 40)
    first = run(site, lengths)
    assert [program["segments"] for program in first["programs"]] == [1]
    assert first["counters"]["captures.recorded"] == 1
    assert site.stats()["compiles"] == 1

    others = [length for length in (2, 3, 16, 17, 64, 100, 509, 511, 512) if length not in lengths]
    second = run(site, others)
    assert second["traced"] == {}
    assert [program["captured"] for program in second["programs"]] == [True]
    assert set(second["counters"]) == {"graphs", "captures.hit", "bindings"}
    assert site.stats()["compiles"] == 1
