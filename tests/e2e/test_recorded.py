"""What a job asks for is recorded, compiled on an empty daemon ahead, and found there by the next job."""

import ctypes
import errno
import hashlib
import json
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import threading

import pytest
from e2e import test_warm
from e2e.conftest import BUILD, ROOT
from e2e.processes import Between, Daemon, run, start
from stoker.libstoker import library

WIDTHS = (32, 48, 8, 4)
HEADER_BYTES = 88  # Of a record: protocol/manifest/FORMAT.md.
LIGHT_JOB = str(ROOT / "tests" / "e2e" / "light_job.py")
WITHOUT_AMX = str(ROOT / "tests" / "without_amx.py")


@pytest.fixture
def manifest(tmp_path):
    return tmp_path / "job.manifest"


@pytest.fixture
def other_site(site, make_site):
    """The same user's, with a daemon that has seen nothing."""
    other = make_site()
    other.env["XDG_CONFIG_HOME"] = site.env["XDG_CONFIG_HOME"]
    return other


def stoker(site, *arguments, **env):
    return subprocess.run(
        [str(BUILD / "bin" / "stoker"), *map(str, arguments)], env={**site.env, **env}, capture_output=True,
        text=True, timeout=600)


def warm(site, *arguments, status=0, **env):
    """The summary of `stoker warm --json`."""
    done = stoker(site, "warm", *arguments, "--json", **env)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def described(path):
    """How much is in a manifest."""
    call = library.load().stoker_manifest_describe
    call.restype = ctypes.c_void_p
    return json.loads(library.take_text(call, ctypes.c_char_p(os.fsencode(path))))


def contents(path):
    """Of each record, unpacked."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    data, place = path.read_bytes(), 0
    while place < len(data):
        size, = struct.unpack_from("<Q", data, place + 48)
        payload = data[place + HEADER_BYTES:place + HEADER_BYTES + size]
        room = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(payload, ctypes.c_size_t(size)))
        zstd.ZSTD_decompress(room, ctypes.c_size_t(len(room)), payload, ctypes.c_size_t(size))
        yield room.raw
        place += HEADER_BYTES + size


def compiles(site):
    return site.stats()["compiles"]


def test_a_recorded_job_compiles_nothing_on_a_daemon_that_was_warmed(site, other_site, manifest):
    done = stoker(site, "record", "--output", manifest, "--", sys.executable, LIGHT_JOB, *WIDTHS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"] == "compiled"
    assert warm(other_site, manifest, "--check", status=1)["missing"] == 1
    assert compiles(other_site) == 0
    summary = warm(other_site, manifest)
    assert (summary["total"], summary["compiled"], summary["failed"]) == (1, 1, 0)
    stats = other_site.stats()
    assert (stats["compiles"], stats["hits"]["total"], stats["misses"]["total"]) == (1, 0, 0)
    assert warm(other_site, manifest, "--check")["hits"] == 1
    assert warm(other_site, manifest)["hits"] == 1
    assert run(other_site, WIDTHS)["source"] in ("memory", "disk")
    assert compiles(other_site) == 1


def test_a_recorded_model_starts_warm_and_traces_nothing(site, other_site, manifest):
    models = ("mlp", "gpt2")
    site.env["STOKER_RECORD"] = str(manifest)
    test_warm.start(site, *models)
    summary = warm(other_site, manifest)
    assert summary["failed"] == 0 and summary["stored"] == len(models) and summary["compiled"] >= len(models)
    before = compiles(other_site)
    test_warm.assert_warm(test_warm.start(other_site, *models), starts=len(models))
    assert compiles(other_site) == before

    # What a warm start loads by its keys is recorded as well.
    again = manifest.with_name("of-a-warm-start")
    other_site.env["STOKER_RECORD"] = str(again)
    test_warm.assert_warm(test_warm.start(other_site, *models), starts=len(models))
    assert {**described(again), "damaged_bytes": 0} == described(manifest)
    other_site.env["STOKER_RECORD"] = ""
    assert warm(other_site, again, "--check")["missing"] == 0


def test_processes_of_one_job_write_one_manifest(site, other_site, manifest):
    """Ranks that start at once, forked and spawned children."""
    program = f"""
import multiprocessing, sys
sys.path.insert(0, {str(ROOT / "tests" / "e2e")!r})
import light_job
def compile(width):
    light_job.compile_for(None, light_job.graph_text([width, 8]))
if __name__ == "__main__":
    compile(16)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        children = [context.Process(target=compile, args=(width,)) for width in (16, 24 + len(method))]
        for child in children:
            child.start()
        for child in children:
            child.join()
            assert child.exitcode == 0
"""
    script = manifest.with_name("job.py")
    script.write_text(program)
    jobs = [start(site, widths, STOKER_RECORD=str(manifest)) for widths in (WIDTHS, WIDTHS, (8, 16), (8, 16, 24))]
    done = stoker(site, "record", "-o", manifest, "--", sys.executable, script)
    assert done.returncode == 0, done.stderr
    for job in jobs:
        site.finish(job)
    found = described(manifest)
    assert found == {"requests": 6, "captures": 0, "damaged_bytes": 0}
    assert warm(other_site, manifest, "--jobs", "3")["compiled"] == 6


def test_a_job_killed_in_the_middle_leaves_what_it_had_written(site, other_site, manifest):
    program = (
        f"import os, signal, sys; sys.path.insert(0, {str(ROOT / 'tests' / 'e2e')!r}); import light_job\n"
        "for width in (8, 16, 24):\n"
        "    light_job.compile_for(None, light_job.graph_text([width, 8]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n")
    done = stoker(site, "record", "-o", manifest, "--", sys.executable, "-c", program)
    assert done.returncode == -signal.SIGKILL
    assert described(manifest)["requests"] == 3
    os.truncate(manifest, manifest.stat().st_size - 7)  # As if it had been killed in its last write.
    done = stoker(other_site, "warm", manifest)
    assert done.returncode == 0, done.stderr
    assert "belong to no whole record" in done.stderr
    assert compiles(other_site) == 2
    summary = warm(other_site, manifest, "--check", status=1)
    assert (summary["hits"], summary["missing"]) == (2, 0)
    assert summary["damaged_bytes"] == summary["cut_bytes"] > 0


def test_a_damaged_manifest_is_warmed_as_far_as_it_is_whole_and_exits_1(site, other_site, manifest):
    for widths in (WIDTHS, (8, 16)):
        run(site, widths, STOKER_RECORD=str(manifest))
    content = bytearray(manifest.read_bytes())
    content[HEADER_BYTES + 5] ^= 1
    manifest.write_bytes(content)
    for arguments, printed in (((), "0 hits, 1 compiled, 0 failed"), (("--check",), "1 hit, 0 missing")):
        done = stoker(other_site, "warm", manifest, *arguments)
        assert done.returncode == 1 and done.stdout.startswith(printed), done.stdout + done.stderr
        assert "bytes of the manifest belong to no whole record" in done.stderr
    assert warm(other_site, manifest, "--check", status=1)["cut_bytes"] == 0


def test_a_check_of_nothing_exits_1(site, manifest):
    manifest.touch()
    assert warm(site, manifest)["total"] == 0
    done = stoker(site, "warm", "--check", manifest)
    assert done.returncode == 1 and f"nothing was checked: '{manifest}'" in done.stderr, done.stderr
    assert warm(site, "--hot", "5", "--check")["total"] == 0


def test_a_manifest_is_compiled_for_other_processors(site, other_site, manifest):
    targets = ("cpu/x86-64-v3", "cpu/x86-64-v4")
    run(site, ("--target", targets[0], *WIDTHS), STOKER_RECORD=str(manifest))
    chosen = [word for target in targets for word in ("--target", target)]
    summary = warm(other_site, *chosen, manifest)
    assert (summary["total"], summary["compiled"]) == (2, 2)
    assert warm(other_site, manifest, "--check", *chosen)["hits"] == 2
    runs = targets if has_avx512() else targets[:1]
    for target in runs:
        assert run(other_site, ("--target", target, *WIDTHS))["source"] in ("memory", "disk")
    assert compiles(other_site) == 2


def has_avx512():
    return "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


def test_precisions_that_the_recording_processor_does_not_read_are_kept_for_one_that_does(
        site, other_site, manifest):
    own = json.loads(stoker_describe(site))["target"]
    target = own if "amx_bf16" in own else "cpu/x86-64-v4+amx_bf16"
    program = (
        "import torch, stoker\n"
        "torch.set_float32_matmul_precision('high')\n"
        "torch.manual_seed(0)\n"
        "model = torch.nn.Linear(64, 64)\n"
        "with torch.no_grad(): torch.compile(model, backend='stoker')(torch.randn(4, 64))\n"
        "print(stoker.last_compile()['sources'])\n")
    for source in ("compiled", "memory"):  # Traced; then from its capture, which knows a key alone.
        manifest.unlink(missing_ok=True)
        done = stoker(site, "record", "-o", manifest, "--", sys.executable, WITHOUT_AMX, sys.executable, "-c", program)
        assert done.returncode == 0 and source in done.stdout, done.stdout + done.stderr
        chosen = (manifest, "--target", target)
        summary = warm(other_site, *chosen)
        assert summary["compiled"] + summary["hits"] == 1
        assert warm(other_site, *chosen, "--numerics", "high", "--check")["hits"] == 1
        assert warm(other_site, *chosen, "--numerics", "highest", "--check", status=1)["missing"] == 1
    assert compiles(other_site) == 1
    if target == own:  # And a job there compiles nothing.
        done = subprocess.run(
            [sys.executable, "-c", program], env=other_site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert "compiled" not in done.stdout
        assert compiles(other_site) == 1


def stoker_describe(site):
    """What libstoker says of its surroundings, in a process with the site's."""
    program = "import json\nfrom stoker.libstoker.client import client\nprint(json.dumps(client().describe()))"
    return subprocess.run(
        [sys.executable, "-c", program], env=site.env, capture_output=True, text=True, check=True, timeout=600).stdout


def test_what_fails_is_named_and_the_rest_goes_on(site, other_site, manifest):
    for widths in (WIDTHS, (8, 16)):
        run(site, widths, STOKER_RECORD=str(manifest))
    targets = ("--target", "cuda/sm_75", "--target", "cpu/x86-64-v3")
    summary = warm(other_site, manifest, *targets, status=1)
    assert (summary["compiled"], summary["failed"]) == (2, 2)
    assert {(failure["label"], failure["target"]) for failure in summary["failures"]} == {("chain", "cuda/sm_75")}
    assert "GPU architecture sm_75" in summary["failures"][0]["message"]
    done = stoker(other_site, "warm", manifest, *targets)
    assert done.returncode == 1
    assert done.stderr.count("fails: ") == 2 and "'chain' for cuda/sm_75" in done.stderr
    assert done.stdout.startswith("2 hits, 0 compiled, 2 failed in ")


def all_of(master):
    """What was written to a pseudo-terminal whose writers have all ended: the kernel hands it over in pieces."""
    written = b""
    with open(master, "rb", buffering=0) as terminal:
        while True:
            try:
                written += terminal.read(1 << 16)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return written.decode()


def test_on_a_terminal_a_bar_is_drawn_and_taken_away(site, other_site, manifest):
    for widths in (WIDTHS, (8, 16)):
        run(site, widths, STOKER_RECORD=str(manifest))
    master, slave = pty.openpty()
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), "warm", str(manifest), "--jobs", "1"], env=other_site.env,
        stdout=subprocess.PIPE, stderr=slave, text=True, timeout=600)
    os.close(slave)
    drawn = all_of(master)
    assert done.returncode == 0 and done.stdout.startswith("0 hits, 2 compiled, 0 failed in ")
    assert "[" + "#" * 15 + "." * 15 + "]  50 %  1 of 2  0 hits, 1 compiled, 0 failed, about " in drawn
    assert drawn.endswith("\r\x1b[K") and drawn.count(" is compiled") == 2


def test_no_more_are_compiled_at_a_time_than_was_asked_for(site, tmp_path, manifest):
    for i in range(6):
        run(site, (8, 8 + 8 * i), STOKER_RECORD=str(manifest))
    folder = tmp_path / "counted"
    folder.mkdir()
    daemon = Daemon(folder, "--workers", "4")
    between = Between(daemon, lambda path, status, reply: reply)
    running, most, lock, call = set(), [], threading.Lock(), daemon.call

    def counted_call(method, path, body=None):
        if path != "/v1/compile":
            return call(method, path, body)
        with lock:
            running.add(body)
            most.append(len(running))
        try:
            return call(method, path, body)
        finally:
            with lock:
                running.discard(body)

    daemon.call = counted_call
    try:
        assert warm(site, manifest, "--jobs", "2", STOKER_URL=between.url)["compiled"] == 6
    finally:
        between.close()
        daemon.process.kill()
        daemon.process.wait()
    assert len(most) == 6 and max(most) <= 2


def test_a_daemon_whose_queue_is_full_is_asked_again(site, tmp_path, manifest):
    widths = [(8, 8 + 8 * i) for i in range(1, 7)]
    for each in widths:
        run(site, each, STOKER_RECORD=str(manifest))
    folder = tmp_path / "busy"
    folder.mkdir()
    daemon = Daemon(folder, "--queue-limit", "1")
    try:
        summary = warm(site, manifest, "--jobs", "4", STOKER_URL=daemon.url)
        assert (summary["compiled"], summary["failed"]) == (len(widths), 0)
    finally:
        daemon.process.kill()
        daemon.process.wait()


def test_captures_of_another_compiler_or_target_are_left_out(site, other_site, manifest):
    site.env["STOKER_RECORD"] = str(manifest)
    test_warm.start(site, "mlp")
    another = "cpu/x86-64-v4" if json.loads(stoker_describe(site))["target"] == "cpu/x86-64-v3" else "cpu/x86-64-v3"
    summary = warm(other_site, manifest, "--target", another)
    assert (summary["skipped_captures"], summary["stored"]) == (1, 0)


def test_into_another_namespace(site, other_site, manifest):
    run(site, WIDTHS, STOKER_RECORD=str(manifest), STOKER_NAMESPACE="team-a")
    assert warm(other_site, manifest)["compiled"] == 1
    assert warm(other_site, manifest, "--namespace", "team-b")["total"] == 1
    assert run(other_site, WIDTHS, STOKER_NAMESPACE="team-a")["source"] in ("memory", "disk")
    assert run(other_site, WIDTHS, STOKER_NAMESPACE="team-b")["source"] in ("memory", "disk")


def test_after_an_upgrade_of_the_compiler_the_hottest_are_compiled_anew(site, tmp_path):
    revision = json.loads(stoker_epoch(site)).partition("-")[2].partition(";")[0].encode()
    earlier = tmp_path / "stokerd"
    program = (BUILD / "bin" / "stokerd").read_bytes()
    assert program.count(revision) > 0
    earlier.write_bytes(program.replace(revision, revision[::-1]))
    earlier.chmod(0o755)
    site.stop()

    hits = {(8, 16): 0, (8, 24): 3, (8, 32): 1}
    for widths, count in hits.items():
        for _ in range(count + 1):
            run(site, widths, STOKER_DAEMON=str(earlier))
    site.stop()
    assert warm(site, "--hot", "2", "--check", status=1)["missing"] == 2
    summary = warm(site, "--hot", "2")
    assert (summary["total"], summary["compiled"]) == (2, 2)
    assert [run(site, widths)["source"] == "compiled" for widths in hits] == [True, False, False]
    assert warm(site, "--hot", "500")["hits"] == 3


def stoker_epoch(site):
    program = "import json\nfrom stoker.libstoker.client import client\nprint(json.dumps(client().compiler_epoch()))"
    return subprocess.run(
        [sys.executable, "-c", program], env=site.env, capture_output=True, text=True, check=True, timeout=600).stdout


# ---- The commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [
    ("record",), ("record", "-o", "m"), ("warm",), ("warm", "m", "--jobs", "0"), ("warm", "m", "--jobs", "257"),
    ("warm", "m", "--hot", "3"), ("warm", "--hot", "0"), ("warm", "m", "--numerics", "fast"),
    ("warm", "m", "--mode", "turbo")])
def test_wrong_usage_exits_2(site, arguments):
    done = stoker(site, *arguments)
    assert done.returncode == 2 and not done.stdout, done.stdout + done.stderr
    assert "--help" in done.stderr


def test_a_target_that_is_none_is_named(site, manifest):
    manifest.touch()
    done = stoker(site, "warm", manifest, "--target", "cpu/z80")
    assert done.returncode == 1 and "'z80' is neither" in done.stderr


def test_record_passes_on_what_the_job_does(site, manifest):
    assert stoker(site, "record", "-o", manifest, "--", "sh", "-c", "exit 7").returncode == 7
    assert stoker(site, "record", "-o", manifest, "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    done = stoker(site, "record", "-o", manifest, "sh", "-c", "echo out; echo err >&2; echo $STOKER_RECORD")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"out\n{manifest}\n", "err\n")
    done = stoker(site, "--url", "unix:/elsewhere", "record", "-o", manifest, "--", "sh", "-c", "echo $STOKER_URL")
    assert done.stdout == "unix:/elsewhere\n"
    done = stoker(site, "record", "-o", manifest, "--", "/no/such/program")
    assert done.returncode == 1 and "'/no/such/program' does not start" in done.stderr
    assert described(manifest) == {"requests": 0, "captures": 0, "damaged_bytes": 0}
    assert warm(site, manifest)["total"] == 0


def test_record_starts_nothing_where_it_cannot_write(site, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\n")
    for output, said in (
            (tmp_path / "none" / "m", "No such file"), (tmp_path, "Is a directory"), (script, "no manifest")):
        done = stoker(site, "record", "-o", output, "--", "echo", "ran")
        assert done.returncode == 1 and said in done.stderr and not done.stdout, done.stderr
    assert script.read_text() == "import torch\n"


def test_a_job_that_cannot_record_goes_on_with_one_line(site, tmp_path):
    process = start(site, WIDTHS, STOKER_RECORD=str(tmp_path / "none" / "m"))
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0 and json.loads(out)["error"] < 1e-5
    assert err.count("\n") == 1 and "requests are not recorded in" in err, err


def test_a_manifest_that_is_none_or_newer_is_refused(site, manifest):
    def refused(said):
        done = stoker(site, "warm", manifest)
        assert done.returncode == 1 and said in done.stderr and not done.stdout, done.stderr

    refused("No such file")
    manifest.write_bytes(b"import torch\n")
    refused("are no manifest")
    header = b"stokrman" + struct.pack("<II32sQ", 2, 1, b"name", 0)
    manifest.write_bytes(header + hashlib.sha256(header).digest())
    refused("The manifest has version 2; this program reads 1.")


def test_manifests_hold_nothing_of_the_host(site, manifest, tmp_path):
    site.env["STOKER_RECORD"] = str(manifest)
    test_warm.start(site, "mlp")
    recorded = list(contents(manifest))
    assert len(recorded) == 2 and any(b'"guards"' in content for content in recorded)
    for text in (str(ROOT), str(tmp_path), os.path.expanduser("~/")):
        assert not [content for content in recorded if text.encode() in content], text
