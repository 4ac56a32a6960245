"""A capture holds, and then something is wrong with its artifacts or with itself: the result is eager's, there
is one warning line at most, it is counted with its reason, and the next start is warm again.
"""

import json
import pathlib
import subprocess

import pytest
from e2e import forked
from e2e import stored_captures
from e2e.conftest import Site
from e2e.test_faults import database_files, flip, truncate

JOB = pathlib.Path(__file__).with_name("fault_job.py")
TOLERANCE = 1e-5
# Parameters, in-place changes, memory shared with inputs, several graphs.
CASES = ("keywords", "inputs_in_place", "aliased_outputs", "graph_breaks")
DIRECT = CASES[:-1]  # stoker.compile leaves frames with graph breaks to torch.compile.


def record(site, **keywords):
    """How many captures the first process stored."""
    return start(site, **keywords)["counters"]["captures.recorded"]


def start(site, fault="none", way="torch", cases=CASES):
    done = subprocess.run(
        [forked.python(), str(JOB), fault, way, *cases], env=site.env, capture_output=True, text=True,
        timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["error"] <= TOLERANCE
    assert len(result["warnings"]) <= 1, result["warnings"]
    return result


def assert_warm(result, starts):
    assert result["warnings"] == [] and result["traced"] == 0
    assert set(result["counters"]) <= {"graphs", "captures.hit", "bindings"}, result["counters"]
    assert result["counters"]["captures.hit"] == starts


@pytest.mark.parametrize("way", ["torch", "stoker"])
def test_artifact_that_fails_in_a_warm_process_gives_eagers_result(site, way):
    cases = DIRECT if way == "stoker" else CASES
    graphs = start(site, cases=CASES)["counters"]["graphs"] - (3 if way == "stoker" else 0)
    for fault, failed in (("run_fails", graphs), ("later_run_fails", graphs), ("bind_fails", 1)):
        before = site.stats()["captures"]
        result = start(site, fault, way, cases)
        assert result["traced"] == 0, fault
        assert result["counters"]["captures.failed.resource exhausted"] == failed, fault
        assert result["counters"]["graphs_eager"] == failed
        assert len(result["warnings"]) == 1
        assert "failed and runs in eager from now on" in result["warnings"][0]
        after = site.stats()["captures"]
        assert after["failed"] - before["failed"] == failed
        assert after["failed_reasons"] == {"resource exhausted": after["failed"]}
    text = site.tool("stats")
    assert "captured graphs that failed and run in eager" in text and "resource exhausted" in text
    assert " failed " in site.tool("explain")


@pytest.mark.parametrize("way", ["torch", "stoker"])
def test_artifact_that_does_not_load_is_traced_again(site, way):
    recorded = record(site)
    result = start(site, "load_fails", way)
    assert result["warnings"] == [] and result["traced"] > 0
    assert result["counters"]["captures.miss.artifact"] >= 1
    assert "captures.hit" not in result["counters"]
    assert site.stats()["captures"]["miss_reasons"]["artifact"] >= 1
    assert_warm(start(site), starts=recorded)


def test_daemon_killed_between_lookup_and_fetch_is_started_again(site):
    recorded = record(site)
    assert_warm(start(site, "daemon_killed"), starts=recorded)


def test_daemon_killed_between_lookup_and_fetch_for_good(site, tmp_path):
    start(site)
    site.stop()
    program = tmp_path / "stokerd"
    program.symlink_to(site.env["STOKER_DAEMON"])
    site.env["STOKER_DAEMON"] = str(program)
    result = start(site, "daemon_killed_for_good")
    assert result["counters"]["captures.miss.artifact"] == 1
    assert result["counters"]["graphs_eager"] >= 1
    assert len(result["warnings"]) == 1 and "a graph runs in eager" in result["warnings"][0]


def test_artifacts_evicted_while_their_captures_stay(site, tmp_path):
    recorded = record(site)
    other = Site(tmp_path / "other")
    try:
        other.run("mlp")  # Its daemon is up, and has artifacts of its own.
        stored_captures.replace(other, stored_captures.of(site))
        result = start(other)
        assert result["warnings"] == []
        assert result["counters"]["captures.miss.artifact"] == recorded
        assert result["counters"]["captures.recorded"] == recorded
        assert_warm(start(other), starts=recorded)
    finally:
        other.close()


# ---- Captures that are not what they were -----------------------------------------------------------


def edited(edit):
    """A damage that changes the capture's JSON and leaves it JSON."""

    def damage(content, other):
        record = json.loads(content)
        edit(record)
        return json.dumps(record)

    return damage


def add_unknown_step(record):
    record["graphs"][0]["program"]["steps"].insert(0, ["jump", []])


def cut_bytecode(record):
    record["code"]["co_code"] = record["code"]["co_code"][:-3]


DAMAGES = {
    "truncated": lambda content, other: content[:len(content) // 2],
    "empty": lambda content, other: "",
    "no JSON": lambda content, other: "\0\1\2" + content,
    "another kind of JSON": lambda content, other: "[1, 2]",
    "nested too deeply": lambda content, other: "[" * 100_000,
    "nothing in it": lambda content, other: "{}",
    "of another key": lambda content, other: other + " ",  # Not the blob that the other key names.
    "of another format": edited(lambda record: record.update(format=record["format"] + 1)),
    "of a format before there were formats": edited(lambda record: record.pop("format")),
    "a guard of no kind": edited(lambda record: record["guards"].insert(0, [0, "likes", 1, ""])),
    "a guard on no node": edited(lambda record: record["guards"].insert(0, [9999, "length", 1, ""])),
    "a step of no kind": edited(add_unknown_step),
    "bytecode that is cut": edited(cut_bytecode),
    "a graph that is not there": edited(lambda record: record["graphs"].clear()),
}


def test_damaged_captures_are_refused_and_replaced(site):
    cases = [f"sum_of_{count}" for count in range(2, 2 + len(DAMAGES))]
    start(site, cases=cases)
    captures = stored_captures.of(site)
    assert len(captures) == len(cases)
    whole = list(captures.values())
    damaged = {
        key: [damage(contents[0], whole[place - 1][0])]
        for place, ((key, contents), damage) in enumerate(zip(captures.items(), DAMAGES.values()))}
    stored_captures.replace(site, damaged)

    result = start(site, cases=cases)
    assert result["counters"]["captures.damaged.damaged"] == len(DAMAGES), result["counters"]
    assert result["counters"]["captures.recorded"] == len(DAMAGES)
    assert "captures.hit" not in result["counters"]
    assert len(result["warnings"]) == 1 and "refused" in result["warnings"][0]
    stats = site.stats()["captures"]
    assert stats["damaged"] == len(DAMAGES)
    assert stats["miss_reasons"]["damaged"] == len(DAMAGES)

    replaced = stored_captures.of(site)
    assert {key: len(contents) for key, contents in replaced.items()} == dict.fromkeys(captures, 1)
    assert all(damaged[key][0] not in replaced[key] for key in replaced)
    assert_warm(start(site, cases=cases), starts=len(cases))


@pytest.mark.parametrize("damage", [flip, truncate], ids=["flipped", "truncated"])
def test_damaged_files_of_captures(site, damage):
    start(site)
    site.stop()
    for path in database_files(site):
        damage(path)
    recorded = record(site)
    assert_warm(start(site), starts=recorded)
