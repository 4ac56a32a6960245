"""The tools that work on the cache as a whole: gc, purge, verify, pins; quotas; the start of a large cache."""

import hashlib
import json
import os
import subprocess

from e2e.processes import BUILD, run, wait_for
from e2e.test_daemon import flip_bits, metrics_of, tables

SMALL = (32, 48, 8, 4)
OTHER = (8, 16, 24)
RECORDS = int(os.environ.get("STOKER_START_RECORDS", "200000"))


def tool(site, *arguments):
    """Exit code, standard output and standard error of a tool that has no terminal."""
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), *arguments], env=site.env, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout, done.stderr


def keys(site):
    return [entry["key"] for entry in json.loads(site.tool("ls", "--json", "--kind", "artifact"))]


def test_pinned_entries_outlive_purges_and_restarts(site):
    run(site, SMALL)
    [key] = keys(site)
    run(site, OTHER)
    assert f"Pinned artifact {key}" in site.tool("pin", key[:8])
    assert key[:16] in site.tool("pins")
    site.stop()
    [pin] = json.loads(site.tool("pins", "--json"))["pins"]
    assert (pin["key"], pin["namespace"]) == (key, "default")
    purged = site.tool("purge", "--namespace", "default", "--yes")
    assert purged.startswith("Removed 1 entries") and "1 pinned entries stay" in purged
    assert run(site, SMALL)["source"] in ("memory", "disk")
    assert run(site, OTHER)["source"] == "compiled"
    assert site.status()["cache"]["pins"]["count"] == 1
    assert "\nstoker_pins 1\n" in metrics_of(site)
    site.tool("unpin", key)
    assert tool(site, "unpin", key)[0] == 1
    assert json.loads(site.tool("purge", "--namespace", "default", "--yes", "--json"))["entries"] == 2
    assert keys(site) == []
    assert run(site, SMALL)["source"] == "compiled"


def test_purge_asks_and_says_what_would_go(site):
    run(site, SMALL)
    code, _, error = tool(site, "purge", "--namespace", "default")
    assert code == 2 and "--yes" in error
    assert tool(site, "purge")[0] == 2
    assert tool(site, "purge", "--older-than", "5")[0] == 2  # Of what?
    code, out, _ = tool(site, "purge", "--namespace", "default", "--dry-run")
    assert code == 0 and out.startswith("There are 1 entries")
    assert json.loads(site.tool("purge", "--older-than", "1h", "--yes", "--json"))["entries"] == 0
    epoch = site.status()["compiler_epoch"]
    assert json.loads(
        site.tool("purge", "--epoch", "older " + epoch, "--yes", "--json"))["entries"] == 0
    assert keys(site)
    assert json.loads(site.tool("purge", "--epoch", epoch, "--yes", "--json"))["entries"] == 1
    assert keys(site) == []
    assert site.stats()["kinds"]["kernel"].get("bytes", 0) == 0


def test_a_namespace_that_is_none_is_no_other_ones(site, tmp_path):
    run(site, SMALL)
    for empty in (("purge", "--yes", "--namespace", "", "--older-than", "0s"), ("ls", "--namespace="),
                  ("export", str(tmp_path / "bundle"), "--namespace", ""), ("--url", "", "stats"),
                  ("purge", "--yes", "--namespace", "é"), ("purge", "--yes", "--namespace", "A")):
        code, out, error = tool(site, *empty)
        assert code == 2 and not out and len(error.splitlines()) <= 2, (empty, code, out, error)
    assert len(keys(site)) == 1
    site.env["STOKER_NAMESPACE"] = os.fsdecode(b"n\xff")
    code, _, error = tool(site, "stats")
    assert code == 1 and error == "stoker: Namespace 'n?' holds a character outside a-z 0-9 . _ -\n", (code, error)
    del site.env["STOKER_NAMESPACE"]


def test_verify_finds_damage(site):
    run(site, range(16, 46))
    code, out, error = tool(site, "verify")
    assert code == 0 and " 0 damaged" in out
    assert "verifying" in error or "starting" in error  # Plain lines: it is no terminal.
    site.stop()
    flip_bits(tables(site)[0])
    code, out, _ = tool(site, "verify", "--json")
    report = json.loads(out)
    assert code == 1 and report["damaged"] > 0 and report["repaired"] == 0
    assert tool(site, "verify")[0] == 0
    assert run(site, range(16, 46))["source"] == "compiled"


def test_gc_evicts_and_gives_space_back(site):
    run(site, range(16, 46))
    report = json.loads(site.tool("gc", "--to", "1KiB", "--json"))
    assert report["evicted_blobs"] > 0 and report["stored_bytes"] <= 1024
    assert keys(site) == []
    assert run(site, SMALL)["source"] == "compiled"
    assert '\nstoker_cache_evicted_total{tier="disk",reason="request"} ' in metrics_of(site)


def test_quotas_bound_a_namespace(daemon):
    target = daemon("--namespace-quota-bytes", "bazel=200000")

    def path(number):
        return "/ac/" + hashlib.sha256(str(number).encode()).hexdigest()

    for number in range(10):
        assert target.call("PUT", path(number), os.urandom(50_000))[0] == 200
    assert target.call("GET", path(0))[0] == 404
    assert target.call("GET", path(9))[0] == 200
    status, error = target.call("PUT", path(10), os.urandom(300_000))
    assert status == 507 and b"'bazel'" in error
    bazel = target.status()["stats"]["namespaces"]["bazel"]
    assert bazel["bytes"] <= bazel["limit_bytes"] == 200_000
    assert bazel["evicted"] >= 6
    metrics = target.call("GET", "/metrics")[1].decode()
    assert '\nstoker_namespace_limit_bytes{namespace="bazel"} 2e+05\n' in metrics
    assert '\nstoker_namespace_refused_total{namespace="bazel"} 1\n' in metrics


def test_a_large_cache_is_served_at_once_and_known_soon(daemon, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    subprocess.run(
        [str(BUILD / "bin" / "cache_record_writer"), str(folder / "store"), str(RECORDS),
         str(RECORDS // 4)], check=True, timeout=600)
    target = daemon("--max-cache-bytes", str(1 << 40))
    assert target.call("GET", "/-/healthy")[0] == target.call("GET", "/-/ready")[0] == 200
    for number in range(16):
        blob = f"blob {number}".encode()
        action = hashlib.sha256(f"action {number}".encode()).hexdigest()
        assert target.call("GET", f"/cas/{hashlib.sha256(blob).hexdigest()}") == (200, blob)
        assert target.call("GET", f"/ac/{action}") == (200, blob)
    body = os.urandom(1000)
    assert target.call("PUT", f"/cas/{hashlib.sha256(body).hexdigest()}", body)[0] == 200
    wait_for(lambda: not target.status()["cache"]["loading"])
    stats = target.status()["stats"]
    assert stats["bytes"]["entries"] == RECORDS + 1
    assert stats["namespaces"]["default"]["bytes"] > 25_000 * (RECORDS // 4 - 16)
    assert target.call("GET", f"/cas/{hashlib.sha256(body).hexdigest()}") == (200, body)
