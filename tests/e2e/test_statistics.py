"""stoker stats over time: what was counted when outlives the daemon, and can be watched."""

import json
import re
import subprocess

import pytest
from e2e.processes import BUILD, ROOT, WAIT_S, run

STOKER = str(BUILD / "bin" / "stoker")
SMALL = (32, 48, 8, 4)


def stats(site, *arguments):
    return json.loads(site.tool("stats", "--json", *arguments))


def refused(site, *arguments):
    return subprocess.run(
        [STOKER, "stats", *arguments], env=site.env, capture_output=True, text=True, timeout=WAIT_S)


def test_since_counts_what_came_after_also_of_a_daemon_that_ended(site):
    run(site, SMALL)
    assert stats(site, "--since", "1h")["compiles"] == 1
    site.stop()
    assert (site.cache / "history").stat().st_mode & 0o777 == 0o600
    run(site, SMALL)
    recent = stats(site, "--since", "15min")
    assert (recent["compiles"], recent["hits"]["total"]) == (1, 1)
    assert recent["bytes"] == stats(site)["bytes"]


def test_jobs_models_and_rates_are_shown(site):
    run(site, SMALL, STOKER_JOB="train/7")
    run(site, SMALL, STOKER_JOB="train/7")
    text = site.tool("stats", "--since", "1h")
    rows = dict(re.findall(r"^  default: (\S+) +(\d+ +\d+ +\d+) +\S", text, re.MULTILINE))
    assert rows.pop("train/7").split() == ["1", "1", "1"], text
    assert [row.split() for row in rows.values()] == [["1", "0", "1"]], text  # The model: who missed did not say which.
    for title in ("job, last 15 min", "model, last 15 min", "rates  "):
        assert re.search(f"^{title} ", text, re.MULTILINE), text
    busy = stats(site)["busy"]
    assert [job["name"] for job in busy["jobs"]] == ["train/7"]


def test_a_history_that_is_damaged_is_begun_anew(site):
    site.cache.mkdir(mode=0o700)
    (site.cache / "history").write_bytes(b"stokhis1 and more that is none")
    run(site, SMALL)
    assert stats(site, "--since", "1h")["compiles"] == 1
    assert "begins anew" in (site.cache / "stokerd.log").read_text()


@pytest.mark.parametrize("arguments", [
    ("--since", "0s"), ("--since", "yesterday"), ("--since", "-1h"), ("--watch", "soon")])
def test_durations_that_are_none_are_refused(site, arguments):
    done = refused(site, *arguments)
    assert done.returncode == 2
    assert arguments[1] in done.stderr


def test_since_longer_than_history_names_the_limit(site):
    done = refused(site, "--since", "91d")
    assert done.returncode == 1
    assert "7776000" in done.stderr


def test_watch_prints_again_until_it_is_stopped(site):
    run(site, SMALL)
    watching = site.keep(subprocess.Popen(
        [STOKER, "stats", "--watch", "1s"], env=site.env, stdout=subprocess.PIPE, text=True))
    rates = 0
    for line in watching.stdout:
        rates += line.startswith("hit rate")
        if rates == 2:
            break
    watching.terminate()
    assert rates == 2 and watching.wait() != 0


# Objects in /status whose keys are names and not fields.
NAMED = {"reasons", "miss_reasons", "local_reasons", "failed_reasons", "compile_failure_classes", "fallback_ops",
         "client", "by_kind", "namespaces", "kinds"}


def fields_of(value, named=False):
    if isinstance(value, list):
        for each in value:
            yield from fields_of(each)
    elif isinstance(value, dict):
        for key, below in value.items():
            if not named:
                yield key
            yield from fields_of(below, not named and key in NAMED)


def test_every_field_of_the_status_is_documented(site):
    run(site, SMALL, STOKER_JOB="train/7")
    text = (ROOT / "daemon" / "STATUS.md").read_text()
    documented = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", text))))
    fields = set(fields_of(site.status()))
    assert len(fields) > 80
    assert fields - documented == set()
