"""A daemon's cache in a file, and out of it in another daemon: what is interrupted goes on."""

import fcntl
import json
import os
import subprocess

import pytest
from e2e import signatures, test_warm
from e2e.conftest import BUILD
from e2e.processes import run

WIDTHS = ((8, 16), (8, 24), (8, 16, 24))


@pytest.fixture
def bundle(tmp_path):
    return tmp_path / "cache.bundle"


@pytest.fixture
def other_site(site, make_site):
    """The same user's, with a daemon that trusts the first one."""
    other = make_site()
    other.env["XDG_CONFIG_HOME"] = site.env["XDG_CONFIG_HOME"]
    other.env["STOKER_TRUSTED_SIGNER"] = signatures.text(signatures.make_daemon_key(site.cache))
    return other


def stoker(site, *arguments):
    return subprocess.run(
        [str(BUILD / "bin" / "stoker"), *map(str, arguments)], env=site.env, capture_output=True, text=True,
        timeout=600)


def counts(site, command, *arguments):
    done = stoker(site, command, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(site, *arguments):
    done = stoker(site, *arguments)
    assert done.returncode == 1 and not done.stdout
    return done.stderr


def test_a_cache_that_was_carried_over_serves_without_compiles(site, other_site, bundle):
    models = ("mlp", "gpt2")
    test_warm.start(site, *models)
    run(site, WIDTHS[0], STOKER_NAMESPACE="team-a")
    exported = counts(site, "export", bundle)
    assert exported["artifacts"] >= len(models) + 1 and exported["captures"] == len(models)
    assert (exported["there_already"], exported["skipped"]) == (0, 0)
    imported = counts(other_site, "import", bundle)
    assert (imported["artifacts"], imported["captures"]) == (exported["artifacts"], exported["captures"])
    test_warm.assert_warm(test_warm.start(other_site, *models), starts=len(models))
    assert run(other_site, WIDTHS[0], STOKER_NAMESPACE="team-a")["source"] in ("memory", "disk")
    assert other_site.stats()["compiles"] == 0

    again = counts(other_site, "import", bundle)
    assert (again["artifacts"], again["captures"], again["bytes"]) == (0, 0, 0)
    size = bundle.stat().st_size
    assert counts(site, "export", bundle)["bytes"] == 0
    assert bundle.stat().st_size == size


def test_an_export_that_was_cut_anywhere_goes_on(site, other_site, bundle):
    for widths in WIDTHS:
        run(site, widths)
    counts(site, "export", bundle)
    whole = bundle.read_bytes()
    for part in (0.1, 0.5, 0.9, 0.999):
        bundle.write_bytes(whole[:int(len(whole) * part)])
        assert "export" in refused(other_site, "import", bundle).lower()
        counts(site, "export", bundle)
    assert counts(other_site, "import", bundle)["artifacts"] == len(WIDTHS)
    for widths in WIDTHS:
        assert run(other_site, widths)["source"] in ("memory", "disk")


def test_an_export_is_added_to(site, other_site, bundle):
    run(site, WIDTHS[0])
    counts(site, "export", bundle)
    run(site, WIDTHS[1])
    added = counts(site, "export", bundle)
    assert (added["artifacts"], added["there_already"]) == (1, 1)
    assert counts(other_site, "import", bundle)["artifacts"] == 2


def test_an_import_that_was_interrupted_sends_only_what_is_missing(site, other_site, bundle):
    for widths in WIDTHS:
        run(site, widths)
    counts(site, "export", bundle)
    run(other_site, WIDTHS[0])  # As if the first had come in before the connection broke.
    imported = counts(other_site, "import", bundle)
    assert (imported["artifacts"], imported["there_already"]) == (len(WIDTHS) - 1, 1)
    assert other_site.stats()["compiles"] == 1


def test_damaged_and_foreign_bundles_are_refused_and_nothing_of_them_is_stored(site, other_site, bundle):
    run(site, WIDTHS[0])
    counts(site, "export", bundle)
    whole = bundle.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    bundle.write_bytes(flipped)
    assert "belong to no whole record" in refused(other_site, "import", bundle)
    assert "is damaged: remove it" in refused(site, "export", bundle)
    bundle.write_bytes(b"import torch\n")
    assert "are no bundle" in refused(other_site, "import", bundle)
    assert "are no bundle" in refused(site, "export", bundle)
    assert bundle.read_bytes() == b"import torch\n"
    bundle.unlink()
    assert "No such file" in refused(other_site, "import", bundle)
    assert json.loads(other_site.tool("ls", "--json")) == []


def test_what_no_trusted_daemon_signed_is_refused_by_name(site, other_site, bundle):
    signer = other_site.env.pop("STOKER_TRUSTED_SIGNER")
    run(site, WIDTHS[0])
    counts(site, "export", bundle)
    said = refused(other_site, "import", bundle)
    assert f"signed by {signer}, whom this daemon does not trust (--trusted-signer)" in said
    assert json.loads(other_site.tool("ls", "--json")) == []


def test_only_one_namespace(site, other_site, bundle):
    for name in ("team-a", "team-b"):
        run(site, WIDTHS[0], STOKER_NAMESPACE=name)
    assert counts(site, "export", bundle, "--namespace", "team-a")["artifacts"] == 1
    counts(other_site, "import", bundle)
    assert [entry["namespace"] for entry in json.loads(other_site.tool("ls", "--json"))] == ["team-a"]


def test_two_exports_into_one_file_do_not_mix(site, bundle):
    run(site, WIDTHS[0])
    held = os.open(bundle, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert "Another process exports into" in refused(site, "export", bundle)
    os.close(held)
    assert counts(site, "export", bundle)["artifacts"] == 1
