"""The daemon's process: addresses, limits, draining, damage, statistics, and the command line about them."""

import contextlib
import hashlib
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time

import pytest
from e2e.processes import (
    BUILD, WAIT_S, HeldWorkers, children_of, is_alive, run, start, wait_for)

SMALL = (32, 48, 8, 4)
LONG = range(16, 46)  # Sixty kernels.


@pytest.mark.parametrize("address, reason", [
    ("http://0.0.0.0:8471", "needs TLS"), ("http://[::]:8471", "needs TLS"),
    ("http://192.168.1.5:8471", "and a credential"), ("https://127.0.0.1:8471", "needs --tls-certificate"),
    ("http://example.com:80", "is no IP address"), ("tcp://127.0.0.1:1", "starts with none of"),
    ("unix:relative", "needs an absolute path")])
def test_no_listening_where_it_is_not_safe(tmp_path, address, reason):
    env = dict(os.environ, STOKER_CACHE_DIR=str(tmp_path))
    for arguments, variables in ((["--listen", address], {}), ([], {"STOKER_LISTEN": address})):
        done = subprocess.run(
            [str(BUILD / "bin" / "stokerd"), *arguments], env={**env, **variables}, timeout=WAIT_S,
            capture_output=True, text=True)
        assert done.returncode == 2
        assert address in done.stderr and reason in done.stderr
    assert not list(tmp_path.iterdir())


def refusal_to_start(*arguments):
    done = subprocess.run(
        [str(BUILD / "bin" / "stokerd"), *map(str, arguments)], timeout=WAIT_S, capture_output=True,
        text=True)
    assert done.returncode == 1
    return done.stderr


def test_a_second_daemon_for_a_folder_or_an_address_is_refused(daemon, tmp_path):
    first = daemon()
    cache = tmp_path / "cache"
    assert f"is held by stokerd process {first.process.pid}." in refusal_to_start(
        "--cache-dir", cache)
    error = refusal_to_start("--cache-dir", tmp_path / "other", "--listen", first.url)
    assert f"Listening on {first.url} fails: Address already in use." in error
    (tmp_path / "file").write_text("")
    assert f"Cache folder '{tmp_path}/file/cache' cannot be made" in refusal_to_start(
        "--cache-dir", tmp_path / "file" / "cache")
    assert first.call("GET", "/-/ready") == (200, b"ready\n")


def test_an_idle_daemon_stops_and_looking_at_it_is_no_use(daemon):
    idle = daemon("--idle-timeout-s", "2")
    wait_for(lambda: idle.process.poll() is not None or not idle.call_or_none("/status"))
    assert idle.process.wait(WAIT_S) == 0
    assert "draining: idle for 2 s" in idle.log.read_text()


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_a_daemon_of_clients_stops_when_its_program_is_replaced(tmp_path, change):
    built = BUILD / "bin" / "stokerd"
    programs = [tmp_path / name for name in ("transient", "lasting")]
    started = []
    for program, timeout_s in zip(programs, ("1000", "0")):
        shutil.copy2(built, program)
        started.append(subprocess.Popen([
            str(program), "--cache-dir", str(tmp_path / f"{program.name}-cache"), "--listen",
            f"unix:{tmp_path}/{program.name}.sock", "--idle-timeout-s", timeout_s]))
    try:
        for program in programs:
            wait_for((tmp_path / f"{program.name}.sock").exists)
        for program in programs:
            program.unlink()
            if change == "replaced":
                shutil.copy2(built, program)
        assert started[0].wait(WAIT_S) == 0
        time.sleep(3)
        assert started[1].poll() is None
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_processes_at_once_share_one_daemon_and_compile_each_key_once(site):
    keys = [SMALL, (32, 64, 8, 4)]
    jobs = [start(site, widths) for widths in keys * 3]
    results = [site.finish(job) for job in jobs]
    sources = [result["source"] for result in results]
    assert sources.count("compiled") == len(keys)
    assert set(sources) <= {"compiled", "joined", "memory", "disk"}
    stats = site.stats()
    assert stats["compiles"] == len(keys)
    assert stats["hits"]["total"] == len(jobs) - len(keys)
    assert stats["compile_failures"] == 0


def test_changed_width_compiles_only_the_kernels_that_change(site):
    first = run(site, SMALL)
    assert site.stats()["kernels"] == {"compiled": first["kernels_unique"], "reused": 0}
    # The last layer is the same: it packs its weights and multiplies as before.
    second = run(site, (32, 64, 8, 4))
    assert second["source"] == "compiled"
    assert site.stats()["kernels"] == {
        "compiled": first["kernels_unique"] + second["kernels_unique"] - 2, "reused": 2}


def test_sigterm_finishes_the_running_compile_and_stores_it(daemon, site):
    first = daemon()
    workers = HeldWorkers(first.process.pid)
    job = start(site, SMALL, STOKER_URL=first.url)
    wait_for(lambda: first.status()["queue"]["running"])
    first.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "draining: signal 15" in first.log.read_text())
    workers.release()
    assert site.finish(job)["source"] == "compiled"
    assert first.process.wait(WAIT_S) == 0
    first.log.unlink()
    second = daemon()
    assert run(site, SMALL, STOKER_URL=second.url)["source"] == "disk"
    assert second.status()["stats"]["compiles"] == 1


@pytest.mark.parametrize("signals, drain_timeout_s", [(1, 0), (2, 600)])
def test_drain_timeout_or_a_second_signal_end_a_compile(daemon, site, signals, drain_timeout_s):
    stubborn = daemon("--drain-timeout-s", str(drain_timeout_s))
    HeldWorkers(stubborn.process.pid)
    job = start(site, SMALL, STOKER_URL=stubborn.url)
    wait_for(lambda: stubborn.status()["queue"]["running"])
    for _ in range(signals):
        stubborn.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "draining" in stubborn.log.read_text())
    assert stubborn.process.wait(WAIT_S) == 0
    _, error = job.communicate(timeout=WAIT_S)
    assert job.returncode == 1 and "unavailable" in error


def test_compile_beyond_its_time_fails_alone(daemon, site):
    limited = daemon("--compile-timeout-s", "10", "--workers", "2")
    HeldWorkers(limited.process.pid)
    slow = start(site, SMALL, STOKER_URL=limited.url)
    wait_for(lambda: limited.status()["queue"]["running"])
    assert run(site, (8, 4), STOKER_URL=limited.url)["source"] == "compiled"
    _, error = slow.communicate(timeout=WAIT_S)
    assert slow.returncode == 1
    assert "deadline exceeded: The compile takes longer than the limit of 10 s" in error
    stats = limited.status()["stats"]
    assert (stats["compiles"], stats["compile_failures"]) == (1, 1)
    assert run(site, SMALL, STOKER_URL=limited.url)["source"] == "compiled"


def test_compile_of_a_killed_worker_is_tried_again(daemon, site):
    target = daemon()
    HeldWorkers(target.process.pid)
    job = start(site, SMALL, STOKER_URL=target.url)
    wait_for(lambda: target.status()["queue"]["running"])
    for pid in children_of(target.process.pid):
        os.kill(pid, signal.SIGKILL)
    assert site.finish(job)["source"] == "compiled"
    assert "was ended by signal 9 (Killed)" in target.log.read_text()


def test_kill_of_the_daemon_in_a_compile_starts_another(site):
    run(site, (8, 4))
    first = site.daemon_pid()
    workers = HeldWorkers(first)
    job = start(site, SMALL)
    wait_for(lambda: site.status()["queue"]["running"])
    os.kill(first, signal.SIGKILL)
    workers.release()
    wait_for(lambda: not any(map(is_alive, workers.pids)))
    assert site.finish(job)["source"] == "compiled"
    assert site.daemon_pid() != first
    assert run(site, (8, 4))["source"] == "disk"


def test_kill_of_the_client_in_a_compile_wastes_nothing(site):
    run(site, (8, 4))
    workers = HeldWorkers(site.daemon_pid())
    job = start(site, SMALL)
    wait_for(lambda: site.status()["queue"]["running"])
    job.kill()
    job.communicate()
    workers.release()
    wait_for(lambda: site.stats()["compiles"] == 2)
    assert run(site, SMALL)["source"] == "memory"


def test_full_queue_is_waited_for(daemon, site):
    target = daemon("--queue-limit", "1")
    workers = HeldWorkers(target.process.pid)
    first = start(site, SMALL, STOKER_URL=target.url)
    wait_for(lambda: target.status()["queue"]["running"])
    second = start(site, (8, 4), STOKER_URL=target.url)
    # Hello, lookup and compile of each.
    wait_for(lambda: target.status()["requests"] >= 6)
    assert target.status()["queue"]["waiting"] == 0
    workers.release()
    assert site.finish(first)["source"] == "compiled"
    assert site.finish(second)["source"] == "compiled"


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


def test_every_name_of_this_host(daemon, site):
    target = daemon(*(["--listen", "http://[::1]:0"] if has_ipv6() else []))
    run(site, SMALL, STOKER_URL=target.url.replace("127.0.0.1", "localhost"))
    if has_ipv6():
        six = wait_for(lambda: re.search(r"listens on (http://\[::1\]:\d+)", target.log.read_text()))
        run(site, SMALL, STOKER_URL=six[1])


def test_nonsense_and_idle_connections_leave_the_daemon_serving(daemon, site):
    target = daemon()
    host, port = target.url.removeprefix("http://").split(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(100)]
    for sent in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n" + b"A" * 5000,
                 b"POST /v1/compile HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n",
                 b"POST /v1/compile HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
            connection.sendall(sent)
            with connection.makefile("rb") as answer:  # However it is cut on its way.
                assert re.match(rb"HTTP/1.1 4\d\d ", answer.readline()), sent
    assert run(site, SMALL, STOKER_URL=target.url)["source"] == "compiled"
    for connection in idle:
        connection.close()


def test_a_daemon_whose_cache_folder_is_gone_is_not_ready(daemon, tmp_path):
    served = daemon()
    (tmp_path / "cache").rename(tmp_path / "aside")
    wait_for(lambda: served.call("GET", "/-/ready") == (503, b"the cache folder is gone\n"))
    assert served.call("GET", "/-/healthy") == (200, b"healthy\n")
    status = served.status()
    assert (status["ready"], status["not_ready"]) == (False, "the cache folder is gone")
    assert served.log.read_text().count(f"the cache folder '{tmp_path}/cache' is gone") == 1
    assert not (tmp_path / "cache").exists()  # What is mounted there may come back.
    (tmp_path / "aside").rename(tmp_path / "cache")
    wait_for(lambda: served.call("GET", "/-/ready") == (200, b"ready\n"))
    assert served.status()["not_ready"] == ""


def test_a_private_daemon_without_its_cache_folder_makes_place(site):
    assert run(site, SMALL)["source"] == "compiled"
    pid = site.daemon_pid()
    shutil.rmtree(site.cache)
    wait_for(lambda: not is_alive(pid))
    assert run(site, SMALL)["source"] == "compiled"


def test_a_token_file_that_is_written_anew_revokes_nobody_meanwhile(daemon, tmp_path):
    def entry(token):
        digest = hashlib.sha256(token.encode()).hexdigest()
        return f'[[token]]\nname = "{token[:5]}"\nsha256 = "{digest}"\nscopes = ["read"]\n'

    def status_with(token):
        connection = http.client.HTTPConnection(guarded.url.removeprefix("http://"), timeout=WAIT_S)
        connection.request("GET", "/status", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status

    first, second = "first-token-of-all-of-them", "second-token-of-all-of-them"
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(entry(first))
    tokens.chmod(0o600)
    guarded = daemon("--tokens", str(tokens))
    assert f"Token file '{tokens}' names 1 token and 0 certificates" in guarded.log.read_text()
    for _ in range(30):  # Each truncates.
        tokens.write_text("")
        tokens.write_text(entry(first))
        tokens.write_text(entry(first) + entry(second))
        assert status_with(first) == 200
        time.sleep(0.1)
    wait_for(lambda: status_with(second) == 200)
    assert "names 2 tokens" in guarded.log.read_text()
    tokens.write_text("")
    wait_for(lambda: status_with(first) == 401)
    assert "names 0 tokens and 0 certificates: every credential that it named is revoked" in guarded.log.read_text()
    assert first not in guarded.log.read_text()


def test_half_sent_headers_take_nobodys_place(daemon):
    crowded = daemon("--max-connections", "20")
    address = crowded.url.removeprefix("http://").split(":")
    half_sent = [socket.create_connection((address[0], int(address[1])), timeout=WAIT_S) for _ in range(60)]
    for connection in half_sent:
        connection.sendall(b"GET / HTTP/1.1\r\n")
    wait_for(lambda: crowded.status()["connections"]["reading"] >= 10)
    for path in ("/-/healthy", "/status", "/metrics") * 5:
        assert crowded.call("GET", path)[0] == 200
    for connection in half_sent:
        connection.close()


def test_too_few_descriptors_are_said_with_what_is_needed(tmp_path):
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 64; exec "$0" "$@"', str(BUILD / "bin" / "stokerd"), "--cache-dir",
         str(tmp_path / "cache")], timeout=WAIT_S, capture_output=True, text=True)
    assert done.returncode == 1 and not (tmp_path / "cache").exists()
    assert re.search(r"\(ulimit -n\) is 64; at least \d+ are needed", done.stderr), done.stderr


def test_bazel_cache_keeps_what_was_put(daemon):
    body = os.urandom(100_000)
    blob = "/cas/" + hashlib.sha256(body).hexdigest()
    action = "/ac/" + hashlib.sha256(b"action").hexdigest()
    target = daemon()
    assert target.call("GET", blob)[0] == target.call("HEAD", action)[0] == 404
    assert target.call("PUT", blob, body) == (200, b"")
    assert target.call("PUT", action, b"result") == (200, b"")
    status, error = target.call("PUT", blob, body[:-1])
    assert status == 400 and b"'body'" in error
    target.stop()
    target.log.unlink()
    target = daemon()
    assert target.call("GET", blob) == (200, body)
    assert target.call("HEAD", blob) == (200, b"")
    assert target.call("GET", action) == (200, b"result")


def tables(site):
    """The files with the blobs come first: there are more bytes of them than of all else."""
    files = (site.cache / "store" / "db").glob("*.sst")
    return sorted(files, key=lambda path: path.stat().st_size, reverse=True)


def flip_bits(path):
    data = bytearray(path.read_bytes())
    for place in range(0, len(data) // 2, 8192):
        data[place] ^= 0x40
    path.write_bytes(data)


def test_flipped_blobs_are_quarantined_counted_and_alone_rebuilt(site):
    run(site, LONG)
    compiled = site.stats()["kernels"]["compiled"]
    site.stop()
    flip_bits(tables(site)[0])
    again = run(site, LONG)
    assert again["source"] == "compiled"
    assert again["miss_reason"].startswith("damaged or evicted")
    stats = site.stats()
    assert stats["quarantined"] >= 2
    assert stats["misses"]["reasons"]["damaged or evicted"] == 1
    assert stats["kernels"]["reused"] > 0
    assert compiled < stats["kernels"]["compiled"] < 2 * compiled
    assert run(site, LONG)["source"] == "memory"
    assert f"damage        {stats['quarantined']} blobs quarantined" in site.tool("stats")
    metrics = metrics_of(site)
    assert f"\nstoker_quarantined_total {stats['quarantined']}\n" in metrics
    assert '\nstoker_misses_total{reason="damaged or evicted"} 1\n' in metrics


def metrics_of(site):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(site.cache / "stokerd.sock"))
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


@pytest.mark.parametrize("damage", ["truncated", "foreign"])
def test_a_cache_damaged_as_a_whole_is_set_aside_and_rebuilt(site, tmp_path, damage):
    run(site, SMALL)
    site.stop()
    largest = tables(site)[0]
    if damage == "truncated":
        os.truncate(largest, largest.stat().st_size // 2)
    else:
        # A good file of another cache.
        other = type(site)(tmp_path / "other")
        run(other, (8, 16, 24))
        other.stop()
        largest.write_bytes(tables(other)[0].read_bytes())
    assert run(site, SMALL)["source"] == "compiled"
    stats = site.stats()
    assert stats["quarantined"] + stats["databases_set_aside"] >= 1
    assert run(site, SMALL)["source"] == "memory"
    site.stop()
    assert run(site, SMALL)["source"] == "disk"


def test_statistics_outlive_a_kill(site):
    run(site, SMALL)
    run(site, SMALL)
    before = site.stats()
    time.sleep(5)  # Counters go to disk once a second, on a busy machine a little later.
    os.kill(site.daemon_pid(), signal.SIGKILL)
    run(site, SMALL)
    after = site.stats()
    assert after["compiles"] == before["compiles"] == 1
    assert after["hits"]["total"] == before["hits"]["total"] + 1
    assert after["hits"]["disk"] == 1
    assert after["misses"] == before["misses"]
    assert after["seconds_saved"] == pytest.approx(2 * before["seconds_saved"])


def test_statistics_by_namespace_and_kind(site):
    run(site, SMALL, STOKER_NAMESPACE="team-a")
    run(site, SMALL, STOKER_NAMESPACE="team-b")
    run(site, SMALL, STOKER_NAMESPACE="team-b")
    # Kernels are code that a worker made for its own namespace: another one makes its own.
    assert site.stats()["kernels"]["reused"] == 0
    run(site, (32, 64, 8, 4), STOKER_NAMESPACE="team-a")
    stats = site.stats()
    spaces = stats["namespaces"]
    assert [spaces[name][field] for name in ("team-a", "team-b")
            for field in ("hits", "misses", "compiles")] == [0, 2, 2, 1, 1, 1]
    assert spaces["team-b"]["seconds_saved"] == stats["seconds_saved"] > 0
    assert spaces["team-a"]["bytes"] > 0
    kinds = stats["kinds"]
    assert kinds["artifact"]["hits"] == 1 and kinds["artifact"]["misses"] == 3
    assert kinds["kernel"]["hits"] == stats["kernels"]["reused"] == 2
    assert kinds["kernel"]["compiles"] == stats["kernels"]["compiled"]
    assert all(kinds[kind]["bytes"] > 0 for kind in ("artifact", "kernel", "graph"))
    text = site.tool("stats")
    for expected in ("hit rate", "misses by reason", "team-a", "team-b", "saved", "kernel"):
        assert expected in text


def test_ls_counts_hits_and_tells_the_last_use(site):
    used = run(site, SMALL)["request_key"]
    other = run(site, (32, 64, 8, 4))["request_key"]
    before = {entry["key"]: entry for entry in json.loads(site.tool("ls", "--json"))}
    run(site, SMALL)
    run(site, SMALL)
    after = {entry["key"]: entry for entry in json.loads(site.tool("ls", "--json"))}
    assert set(after) == {used, other}
    assert (after[used]["hits"], after[other]["hits"]) == (2, 0)
    assert after[used]["last_used_unix_s"] > before[used]["last_used_unix_s"]
    assert after[other]["last_used_unix_s"] == before[other]["last_used_unix_s"]
    lines = site.tool("ls").splitlines()
    assert lines[0].split() == [
        "KEY", "KIND", "NAMESPACE", "SIZE", "COMPILE", "HITS", "USED", "LABEL"]
    row = next(line for line in lines if line.startswith(used[:16]))
    assert re.search(r" 2 +\d+ ms ago +chain cpu/x86-64", row) or re.search(r" 2 .* s ago", row)
    assert len(json.loads(site.tool("ls", "--json", "--limit", "1"))) == 1
    assert json.loads(site.tool("ls", "--json", "--namespace", "other")) == []


def test_inspect_and_key_explain(site):
    a = run(site, SMALL)["request_key"]
    b = run(site, (32, 64, 8, 4))["request_key"]
    text = site.tool("inspect", a[:12])
    sections = re.findall("^==== (.*) ====$", text, re.MULTILINE)
    assert sections == ["graph", "groups", "loops", "schedules", "plan", "llvm", "asm"]
    for shown in ("dot_general", "flops", "bytes", "define", "vfmadd"):
        assert shown in text
    assert "==== plan" not in site.tool("inspect", a, "--section", "asm")
    explained = site.tool("key", "--explain", a[:12], b[:12])
    assert explained.startswith("First difference: graph\n")
    assert site.tool("key", "--explain", a, a) == "The two requests are the same in every field.\n"
    assert "No stored request key starts with 'ffffffff'" in failure(site, "inspect", "ffffffff")
    assert "'inspect.key_prefix'" in failure(site, "inspect", "xyz")


def failure(site, *arguments, code=1):
    """What a command that fails says."""
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), *arguments], env=site.env, capture_output=True, text=True,
        timeout=WAIT_S)
    assert done.returncode == code, done.stdout
    return done.stderr or done.stdout


def test_doctor_and_stop(site):
    assert "not running; it starts with the first request" in site.tool("doctor")
    run(site, SMALL)
    text = site.tool("doctor")
    assert "FAIL" not in text
    for what in ("client", "processor", "cache folder", "stokerd", "daemon", "compiler", "stored"):
        assert re.search(f"^ok    {what} ", text, re.MULTILINE)
    assert "FAIL  daemon" in failure(site, "--url", "unix:/nonexistent/sock", "doctor")
    site.stop()
    assert site.tool("stop") == "No daemon is running.\n"


def test_stop_tells_a_daemon_that_is_not_there_from_one_that_does_not_answer(site):
    assert site.tool("--url", "unix:/nonexistent/sock", "stop") == "No daemon is running.\n"
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with contextlib.ExitStack() as queue:
            for _ in range(4):  # Where there is no room for more, nobody answers.
                waiting = queue.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            for url in (f"http://127.0.0.1:{full.getsockname()[1]}", "http://nowhere.invalid:8471"):
                said = failure(site, "--url", url, "stop")
                assert said.startswith(f"stoker: Nobody answers at {url}: "), said


OF_ANOTHER_VERSION = b"\x08\x01\x12\x050.0.9\x1a\x03old\x20\x01\x2a\x03cpu"  # protocol_version 1


class OfAnotherVersion(socketserver.ThreadingUnixStreamServer):
    """A private daemon that an upgrade has left."""

    daemon_threads = True

    class RequestHandlerClass(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self._answer(200, OF_ANOTHER_VERSION if self.path == "/v1/hello" else b"")

        def do_POST(self):
            if self.path != "/-/quit":
                return self._answer(404, b"")
            self._answer(200, b"")
            self.server.has_quit = True
            self.server.server_close()
            os.unlink(self.server.server_address)
            threading.Thread(target=self.server.shutdown).start()

        def address_string(self):
            return "unix"

        def log_message(self, *_):
            pass

    def __init__(self, path):
        super().__init__(path, self.RequestHandlerClass)
        self.has_quit = False


def test_private_daemon_of_another_version_is_replaced(site):
    site.cache.mkdir(parents=True, exist_ok=True)
    old = OfAnotherVersion(str(site.cache / "stokerd.sock"))
    serving = threading.Thread(target=old.serve_forever)
    serving.start()
    result = site.run("mlp")
    serving.join(timeout=60)
    assert old.has_quit
    assert result["error"] < 1e-5
    assert result["graphs"] == 1
