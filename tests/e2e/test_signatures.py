"""Whose code is run: artifacts of daemons that are believed, captures of writers who are trusted. For anything else the
job runs on in eager, or traces, and says why in one line.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
from e2e import forked
from e2e import signatures
from e2e.processes import BUILD, Between, run, start, wait_for
from e2e.test_wire import field, parts

SMALL = (32, 48, 8, 4)
NOBODY = 65534
FAULT_JOB = pathlib.Path(__file__).with_name("fault_job.py")
OTHER_KEY = "ed25519:" + "ab" * 32


def key_of(daemon):
    return daemon.folder / "cache" / "keys" / "signing.pem"


def failure(site, **env):
    """What a job without PyTorch says of the call that failed."""
    job = start(site, SMALL, **env)
    _, err = job.communicate(timeout=600)
    assert job.returncode != 0
    return err.splitlines()[-1]


def eager_warning(site, **env):
    """Of a job that runs in eager: its one line."""
    site.env.update(env)
    result = site.run("mlp")
    assert result["error"] <= 1e-5 and result["last"] is None
    warning, = result["warnings"]
    assert warning.startswith("a graph runs in eager: "), warning
    return warning


# ---- Daemons -----------------------------------------------------------------------------------------


def test_a_pinned_daemon_is_believed_and_no_other(daemon, site):
    one = daemon()
    key = signatures.text(key_of(one))
    assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=key)["source"] == "compiled"
    keys = site.cache.parent / "fleet.keys"
    keys.write_text(f"# The fleet's\n{OTHER_KEY}\n{key}  # since today\n")
    assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=str(keys))["source"] == "memory"
    warning = eager_warning(site, STOKER_URL=one.url, STOKER_SIGNERS=OTHER_KEY)
    assert f"signs with {key}, and STOKER_SIGNERS trusts {OTHER_KEY}" in warning
    assert one.status()["stats"]["compiles"] == 1  # Nothing was asked of a daemon that is not believed.


@pytest.mark.parametrize("setting", ["STOKER_SIGNERS", "STOKER_TRUSTED_WRITERS", "STOKER_WRITER_KEY"])
def test_a_setting_that_is_no_key_is_named(site, setting):
    warning = eager_warning(site, **{setting: "/nowhere/key", "STOKER_URL": "http://127.0.0.1:1"})
    assert setting in warning and "'/nowhere/key'" in warning


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("scheme", ["http", "unix"])
def test_a_daemon_of_another_user_is_believed_only_if_it_is_named(site, scheme):
    folder = pathlib.Path(tempfile.mkdtemp())  # Where nobody may go.
    folder.chmod(0o755)
    os.chown(folder, NOBODY, NOBODY)
    program = shutil.copy2(BUILD / "bin" / "stokerd", folder / "stokerd")
    listen = {"http": "http://127.0.0.1:0", "unix": f"unix:{folder}/s"}[scheme]
    process = subprocess.Popen(
        [program, "--cache-dir", folder / "cache", "--listen", listen, "--log-file", folder / "log"],
        user=NOBODY, group=NOBODY, extra_groups=[])
    try:
        wait_for(lambda: (folder / "log").exists() and "listens on" in (folder / "log").read_text())
        url = (folder / "log").read_text().partition("listens on ")[2].split()[0]
        warning = eager_warning(site, STOKER_URL=url)
        key = signatures.text(folder / "cache" / "keys" / "signing.pem")
        if scheme == "http":
            assert f"Nothing proves who serves {url}" in warning and key in warning
            assert run(site, SMALL, STOKER_URL=url, STOKER_SIGNERS=key)["source"] == "compiled"
        else:
            assert f"is served by user {NOBODY}" in warning
        assert run(site, SMALL, STOKER_URL=url, STOKER_DAEMON_USER=str(NOBODY))["error"] <= 1e-5
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


@pytest.mark.parametrize("forgery", ["none", "of another key", "of another artifact", "a flipped bit"])
def test_an_artifact_whose_signature_does_not_fit_is_not_loaded(daemon, site, tmp_path, forgery):
    """Somebody stands in the way who can write digests, but has no key."""
    one = daemon()
    for widths in ((8, 16, 24), SMALL):
        run(site, widths, STOKER_URL=one.url)
    stranger = signatures.make_key(tmp_path / "stranger.pem")
    seen = []

    def forge(path, status, reply):
        if path != "/v1/lookup" or status != 200:
            return reply
        artifact, blobs = parts(reply)
        seen.append(artifact)
        body = signatures.body(artifact)
        if forgery == "none":
            forged = artifact[:len(body) + signatures.DIGEST_BYTES] + bytes(signatures.COUNT_BYTES)
        elif forgery == "of another key":
            forged = signatures.signed(body, stranger)
        elif forgery == "of another artifact":
            forged = artifact[:-100] + seen[0][-100:]
        else:
            forged = artifact[:-50] + bytes([artifact[-50] ^ 1]) + artifact[-49:]
        return field(1, forged) + blobs

    between = Between(one, forge)
    try:
        if forgery == "of another artifact":
            assert run(site, (8, 16, 24), STOKER_URL=between.url)["source"] == "memory"
        result = run(site, SMALL, STOKER_URL=between.url)
        assert result["miss_reason"].startswith("refused: "), result
        assert "sign" in result["miss_reason"]
        assert result["source"] == "memory"  # The daemon's own, over the stream of a compile.
        assert one.status()["stats"]["client"] == {"artifacts_refused": 1}
    finally:
        between.close()


def test_who_answers_in_a_daemons_place_is_told_by_the_pin(daemon, site, tmp_path):
    """Everything that this relay says is consistent: it announces a key and signs with it. The key is another."""
    one = daemon()
    own = signatures.make_key(tmp_path / "own.pem")
    real = signatures.public_key(key_of(one))

    def impersonate(path, status, reply):
        if path == "/v1/hello":
            return reply.replace(real, signatures.public_key(own))
        if path == "/v1/lookup" and status == 200:
            artifact, blobs = parts(reply)
            return field(1, signatures.signed(signatures.body(artifact), own)) + blobs
        return reply

    run(site, SMALL, STOKER_URL=one.url)
    between = Between(one, impersonate)
    try:
        # This user's own process may say so: nothing that it could not do otherwise.
        assert run(site, SMALL, STOKER_URL=between.url)["source"] == "memory"
        said = failure(site, STOKER_URL=between.url, STOKER_SIGNERS=signatures.text(key_of(one)))
        assert f"signs with {signatures.text(own)}, and STOKER_SIGNERS trusts" in said
    finally:
        between.close()


def rotate(folder, *arguments):
    done = subprocess.run(
        [str(BUILD / "bin" / "stokerd"), "--rotate-key", "--cache-dir", str(folder), *arguments],
        capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr


def test_a_rotation_costs_no_compile_and_cuts_off_nobody_who_is_within_the_overlap(daemon, site):
    one = daemon()
    cache = one.folder / "cache"
    old = signatures.text(key_of(one))
    assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=old)["source"] == "compiled"
    code, new, _ = rotate(cache)
    assert code == 0 and new == signatures.text(key_of(one)) != old
    wait_for(lambda: f"signs with {new}, {old} from now on" in one.log.read_text())
    for key in (old, new):
        assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=key)["source"] == "memory"
    one.stop()
    one.log.unlink()

    later = daemon("--key-overlap-s", "0")
    assert not (cache / "keys" / "previous.pem").exists()
    assert run(site, SMALL, STOKER_URL=later.url, STOKER_SIGNERS=new)["source"] == "disk"
    assert f"signs with {new}, and" in failure(site, STOKER_URL=later.url, STOKER_SIGNERS=old)
    assert later.status()["stats"]["compiles"] == 1
    code, _, error = rotate(cache, "--signing-key", str(key_of(later)))
    assert code == 1 and "'signing-key' names the keys" in error


def test_a_stolen_key_is_disowned_under_a_daemon_that_runs(daemon, site):
    one = daemon()
    cache = one.folder / "cache"
    stolen = signatures.text(key_of(one))
    assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=stolen)["source"] == "compiled"
    code, new, error = rotate(cache, "--key-overlap-s", "0")
    assert code == 0, error
    assert not (cache / "keys" / "previous.pem").exists()
    wait_for(lambda: f"signs with {new} from now on" in one.log.read_text())
    signers = cache / "keys" / "signers"
    signers.write_text("".join(
        line for line in signers.read_text().splitlines(keepends=True) if line.strip() != stolen))
    assert f"signs with {new}, and" in failure(site, STOKER_URL=one.url, STOKER_SIGNERS=stolen)
    time.sleep(3)  # The daemon looks at its files every second; a lookup before signs anew.
    assert run(site, SMALL, STOKER_URL=one.url, STOKER_SIGNERS=new)["source"] == "compiled"
    assert stolen not in signers.read_text()


def test_a_job_goes_on_when_its_daemons_key_changes_under_it(site):
    site.env["STOKER_KEY_OVERLAP_S"] = "0"  # Of the daemon that it starts: the old key signs nothing any more.
    job = site.start("mlp", "--outlive")
    assert job.stdout.readline() == "paused\n"
    code, new, error = rotate(site.cache)
    assert code == 0, error
    log = site.cache / "stokerd.log"
    wait_for(lambda: f"signs with {new} from now on" in log.read_text())
    job.stdin.write("\n")
    job.stdin.flush()
    result = site.finish(job)
    assert result["error"] <= 1e-5 and result["warnings"] == [] and result["counters"]["graphs"] == 2


def test_what_another_key_signed_is_compiled_anew(daemon, site, tmp_path):
    one = daemon()
    run(site, SMALL, STOKER_URL=one.url)
    one.stop()
    one.log.unlink()
    shutil.rmtree(one.folder / "cache" / "keys")
    key = signatures.make_key(tmp_path / "fleet.pem")
    later = daemon("--signing-key", str(key))
    again = run(site, SMALL, STOKER_URL=later.url, STOKER_SIGNERS=signatures.text(key))
    assert again["source"] == "compiled" and "signed by no key of this daemon" in again["miss_reason"]
    stats = later.status()["stats"]
    assert stats["misses"]["reasons"]["signer is unknown"] == 1
    assert stats["quarantined"] == 0
    assert run(site, SMALL, STOKER_URL=later.url)["source"] == "memory"


def test_processes_that_start_a_daemon_at_once_meet_one_key(site):
    jobs = [start(site, SMALL) for _ in range(4)]
    for job in jobs:
        assert site.finish(job)["error"] <= 1e-5
    signers = (site.cache / "keys" / "signers").read_text().splitlines()
    assert [line for line in signers if not line.startswith("#")] == [
        signatures.text(site.cache / "keys" / "signing.pem")]


# ---- Writers -----------------------------------------------------------------------------------------


def counters(site, home, **env):
    """Of one start by the user whose configuration lies in `home`."""
    done = subprocess.run(
        [forked.python(), str(FAULT_JOB), "none", "torch", "keywords"],
        env={**site.env, "XDG_CONFIG_HOME": str(home), **env}, capture_output=True, text=True,
        timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["error"] <= 1e-5 and result["warnings"] == []
    return result["counters"]


def test_captures_of_others_are_left_alone_until_their_writer_is_trusted(site, tmp_path):
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    assert counters(site, one)["captures.recorded"] == 1
    assert counters(site, one)["captures.hit"] == 1
    writer = signatures.text(one / "stoker" / "writer.pem")

    theirs = counters(site, other)
    assert theirs["captures.miss.untrusted writer"] == 1 and theirs["captures.recorded"] == 1
    assert "captures.hit" not in theirs
    assert site.stats()["captures"]["miss_reasons"] == {"no capture": 1, "untrusted writer": 1}
    assert f"by {writer}, whom this client does not trust" in site.tool("explain")
    for home in (one, other):  # Each has their own now.
        assert counters(site, home)["captures.hit"] == 1

    assert counters(site, third, STOKER_TRUSTED_WRITERS=writer)["captures.hit"] == 1
    team = str(one / "stoker" / "writer.pem")
    assert counters(site, third, STOKER_WRITER_KEY=team)["captures.hit"] == 1
    listed = json.loads(site.tool("ls", "--captures", "--json"))
    assert {entry["writer"] for entry in listed} == {
        writer, signatures.text(other / "stoker" / "writer.pem")}
    assert len({entry["key"] for entry in listed}) == 1


def test_keys_shows_whose_code_is_run_in_the_form_of_the_settings(site):
    run(site, SMALL)
    keys = json.loads(site.tool("keys", "--json"))
    signer = signatures.text(site.cache / "keys" / "signing.pem")
    writer = signatures.text(pathlib.Path(site.env["XDG_CONFIG_HOME"]) / "stoker" / "writer.pem")
    assert keys["daemon"]["signing_keys"] == keys["daemon"]["believed"] == [signer]
    assert keys["daemon"]["is_authenticated"] and keys["daemon"]["error"] == ""
    assert keys["writer"]["key"] == writer and keys["trusted_writers"] == []
    text = site.tool("keys")
    assert f"STOKER_SIGNERS={signer}" in text and f"STOKER_TRUSTED_WRITERS={writer}" in text
    site.env.update(STOKER_TRUSTED_WRITERS=OTHER_KEY, STOKER_URL=f"unix:{site.cache}/nowhere")
    text = site.tool("keys")
    assert f"trusted  {OTHER_KEY}" in text and "Nobody answers at" in text
