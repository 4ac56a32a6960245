"""A daemon's cache in a file, and out of it in another daemon: what is interrupted goes on."""

import fcntl
import json
import os
import subprocess

import pytest
from e2e import signatures, test_warm
from e2e.conftest import BUILD
from e2e.processes import Daemon, run
from e2e.relay import Retold, head, whole

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


def flip(send, path, status, body):
    middle = len(body) // 2
    send(whole(status, body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1:]))


def shorten(send, path, status, body):
    send(head(status) + body[:-1])  # Up to the end of the connection.
    return False


def send_nothing(send, path, status, body):
    send(whole(200, b""))


def send_a_page(send, path, status, body):
    send(whole(200, b"<html>Sign in first.</html>"))


def know_no_such_path(send, path, status, body):
    send(whole(404, b"<html>Not found.</html>"))


def forbid(send, path, status, body):
    send(whole(403, b""))


@pytest.fixture
def daemon(daemon):
    return daemon()


def retold(request, daemon, tells):
    """Answers as `tells` says for the paths that begin so, and as the daemon elsewhere."""
    def tell(send, path, status, body):
        for start, told in tells.items():
            if path.startswith(start):
                return told(send, path, status, body)
        return send(whole(status, body))

    made = Retold(daemon, tell)
    request.addfinalizer(made.close)
    return made


@pytest.mark.parametrize(("path", "tell"), [
    ("/cas/", flip), ("/cas/", shorten), ("/cas/", send_nothing), ("/cas/", send_a_page), ("/cas/", know_no_such_path),
    ("/cas/", forbid), ("/v1/entries/get", send_nothing), ("/v1/entries/get", send_a_page),
    ("/v1/entries/get", know_no_such_path)])
def test_what_comes_damaged_is_named_and_the_bundle_is_not_finished(
        request, daemon, site, bundle, path, tell):
    site.env["STOKER_URL"] = daemon.url
    run(site, WIDTHS[0])
    [entry] = json.loads(site.tool("ls", "--json"))
    site.env["STOKER_URL"] = retold(request, daemon, {path: tell}).url
    said = refused(site, "export", bundle)
    assert f"artifact {entry['key']} of namespace 'default'" in said
    site.env["STOKER_URL"] = daemon.url
    assert "export" in refused(site, "import", bundle).lower()
    assert counts(site, "export", bundle)["skipped"] == 0
    assert counts(site, "import", bundle)["there_already"] == 1


def test_nothing_is_no_bundle(request, daemon, site, bundle):
    site.env["STOKER_URL"] = daemon.url
    run(site, WIDTHS[0])
    assert "in namespace 'elsewhere': there is nothing" in refused(site, "export", bundle, "--namespace", "elsewhere")
    site.env["STOKER_URL"] = retold(request, daemon, {"/v1/list": send_nothing}).url
    assert "there is nothing to export" in refused(site, "export", bundle)
    assert not bundle.exists()


def test_what_other_compilers_made_is_no_bundle(request, daemon, site, bundle):
    site.env["STOKER_URL"] = daemon.url
    run(site, WIDTHS[0])

    def rename_compiler(send, path, status, body):
        send(whole(status, body.replace(b"stoker-", b"newer1-")))

    site.env["STOKER_URL"] = retold(request, daemon, {"/v1/hello": rename_compiler}).url
    said = refused(site, "export", bundle)
    assert "All 1 entries are of another compiler than newer1-" in said and "'stoker warm --hot'" in said
    site.env["STOKER_URL"] = daemon.url
    assert "export" in refused(site, "import", bundle).lower()  # It was not finished.


def test_damage_of_one_entry_keeps_no_other_from_the_bundle(request, daemon, site, bundle):
    site.env["STOKER_URL"] = daemon.url
    for widths in WIDTHS:
        run(site, widths)
    damaged = json.loads(site.tool("ls", "--json"))[0]
    site.env["STOKER_URL"] = retold(request, daemon, {f"/cas/{damaged['artifact']}": flip}).url
    said = refused(site, "export", bundle)
    assert f"is not complete, 1 of {len(WIDTHS)} entries came damaged:" in said and damaged["key"] in said
    site.env["STOKER_URL"] = daemon.url
    again = counts(site, "export", bundle)
    assert (again["artifacts"], again["there_already"], again["skipped"]) == (1, len(WIDTHS) - 1, 0)


@pytest.mark.parametrize("work", [("purge", "--namespace", "team-a", "--yes"), ("gc", "--to", "0")])
@pytest.mark.parametrize("path", ["/v1/list", "/v1/entries/get"])
def test_what_the_daemon_has_no_more_is_left_out(request, daemon, site, bundle, work, path):
    site.env["STOKER_URL"] = daemon.url
    run(site, WIDTHS[0], STOKER_NAMESPACE="team-a")

    def remove(send, path, status, body):  # And then the blobs that nothing names.
        for each in (work, ("gc", "--to", "0", "--unnamed-older-than", "0s")):
            subprocess.run([str(BUILD / "bin" / "stoker"), "--url", daemon.url, *each], env=site.env, check=True)
        send(whole(status, body))

    site.env["STOKER_URL"] = retold(request, daemon, {path: remove}).url
    exported = counts(site, "export", bundle)
    assert (exported["artifacts"], exported["skipped"]) == (0, 1)


def test_more_entries_than_a_daemon_lists_are_no_complete_bundle(request, daemon, site, bundle):
    site.env["STOKER_URL"] = daemon.url
    run(site, WIDTHS[0])
    # Messages one behind the other are one with the entries of all.
    many = {"/v1/list": lambda send, path, status, body: send(whole(status, body * 100000))}
    site.env["STOKER_URL"] = retold(request, daemon, many).url
    assert "The daemon lists 100000 entries, the limit" in refused(site, "export", bundle)
