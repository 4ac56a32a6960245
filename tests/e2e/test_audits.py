"""Warm starts that are traced again beside the job."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


def run(site, *arguments, **variables):
    job = pathlib.Path(__file__).with_name("audit_job.py")
    done = subprocess.run(
        [forked.python(), str(job), *arguments], env=site.env | variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def captures(site):
    return json.loads(site.tool("stats", "--json"))["captures"]


@pytest.mark.parametrize("way", ["torch", "direct"])
def test_an_audit_agrees_with_what_is_right_and_drops_what_is_not(site, way):
    run(site, "torch")
    right, said = run(site, way, STOKER_CAPTURES="audit")
    assert right["result"] == [2.0] * 4
    assert right["counters"]["captures.hit"] == 1 and right["traced"] == 0, right
    assert said == ""
    assert (captures(site)["audited"], captures(site)["differing"]) == (1, 0)

    wrong, said = run(site, way, "hole", SCALE="3", STOKER_CAPTURES="audit")
    assert wrong["result"] == [2.0] * 4, "the hole is there"
    assert said.count("\n") == 1 and "was wrong and is dropped" in said and "scaled" in said
    assert captures(site)["differing"] == 1

    again, _ = run(site, way, "hole", SCALE="3")
    assert again["result"] == [3.0] * 4
    assert "captures.hit" not in again["counters"]


@pytest.mark.parametrize("way", ["torch", "direct"])
def test_a_job_whose_children_the_system_reaps_is_audited_too(site, way):
    run(site, "torch")
    result, said = run(site, way, "reaped", STOKER_CAPTURES="audit")
    assert result["result"] == [2.0] * 4 and said == ""
    assert captures(site)["audited"] == 1


def test_parts_of_a_function_whose_graph_breaks_are_right(site):
    cold, _ = run(site, "torch", "breaks")
    warm, said = run(site, "torch", "breaks", STOKER_CAPTURES="audit")
    parts = cold["traced"]
    assert parts == 5 and warm["result"] == cold["result"] == [16.0] * 4
    assert warm["counters"]["captures.hit"] == parts and warm["traced"] == 0 and said == "", said
    assert (captures(site)["audited"], captures(site)["differing"]) == (parts, 0)


def test_what_a_child_cannot_trace_is_nothing_of_the_jobs(site):
    run(site, "torch", "backward")
    result, said = run(site, "torch", "backward", STOKER_CAPTURES="audit")
    assert result["counters"]["captures.hit"] == 1 and said == "", said
    assert captures(site)["differing"] == 0


def test_a_share_of_starts_is_drawn_and_the_first_with_other_packages(site, tmp_path):
    run(site, "torch")
    run(site, "torch", STOKER_AUDIT_ONE_IN="1")
    assert captures(site)["audited"] == 1
    run(site, "torch", STOKER_AUDIT_ONE_IN="0")
    assert captures(site)["audited"] == 1
    never = str(1 << 60)
    run(site, "torch", STOKER_AUDIT_ONE_IN=never)
    assert captures(site)["audited"] == 1
    (tmp_path / "thing-1.0.dist-info").mkdir()
    path = f"{site.env['PYTHONPATH']}:{tmp_path}"
    for _ in range(2):
        run(site, "torch", STOKER_AUDIT_ONE_IN=never, PYTHONPATH=path)
        assert captures(site)["audited"] == 2
    _, said = run(site, "torch", STOKER_AUDIT_ONE_IN="often")
    assert "'often', which is no number of starts; 64 is used" in said
