"""Connections that are slow, cut in the middle of a reply, or say something odd: jobs get what they asked for, or an error
that says so."""

import json
import subprocess
import sys
import time

import pytest
from e2e.processes import Daemon, run, start
from e2e.relay import Relay, Retold, head, whole
from e2e.test_bundles import stoker

WIDTHS = (32, 48, 8, 4)
CUT_AFTER = 1000  # Bytes: more than any reply that is no content, and less than an artifact.


@pytest.fixture
def daemon(daemon):
    return daemon()


@pytest.fixture
def relay(daemon):
    made = []

    def make(plan, most_asked=None):
        made.append(Relay(daemon.url, plan, most_asked))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def retold(daemon):
    made = []

    def make(tell):
        made.append(Retold(daemon, tell))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("cut_after", [0, 1, 100, 1000, 20000])
def test_cut_connections_are_made_anew(daemon, relay, site, cut_after):
    # The hello and every second connection after it are cut.
    through = relay(lambda number: (cut_after if number % 2 == 0 else None, 0))
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] in ("compiled", "memory", "joined")
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] == "memory"
    assert daemon.status()["stats"]["compiles"] == 1
    assert through.connections > 2 or cut_after >= 1000


def test_slow_connections_are_waited_for(daemon, relay, site):
    through = relay(lambda number: (None, 0.02))
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] == "compiled"
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] == "memory"


def test_connections_that_are_always_cut_are_an_error_soon(daemon, relay, site):
    through = relay(lambda number: (10, 0))
    job = start(site, WIDTHS, STOKER_URL=through.url)
    _, error = job.communicate(timeout=120)
    assert job.returncode == 1 and "unavailable" in error
    assert through.connections < 20
    assert run(site, WIDTHS, STOKER_URL=daemon.url)["source"] == "compiled"


def test_downloads_go_on_where_connections_were_cut(daemon, relay, site, tmp_path):
    run(site, (64,) * 8, STOKER_URL=daemon.url)
    through = relay(lambda number: (CUT_AFTER, 0))
    site.env["STOKER_URL"] = through.url
    bundle = tmp_path / "cache.bundle"
    site.tool("export", str(bundle))
    assert b"\r\nRange: bytes=" in through.asked
    assert site.tool("import", str(bundle))


CONSTANTS = ("--constants", 1024, 1024, 8)  # A graph of more than GRAPH_BYTES.
GRAPH_BYTES = 1024 * 1024 * 4
CUT_ASKED_AFTER = 300_000


def assert_that_uploads_went_on(through, size):
    assert through.connections > size // CUT_ASKED_AFTER
    assert b"\r\nUpload-Offset: " in through.asked
    assert size < len(through.asked) < 1.5 * size


def test_uploads_go_on_where_connections_were_cut(daemon, relay, site):
    through = relay(lambda number: (None, 0), CUT_ASKED_AFTER)
    assert run(site, CONSTANTS, STOKER_URL=through.url)["source"] == "compiled"
    assert_that_uploads_went_on(through, GRAPH_BYTES)
    assert daemon.status()["stats"]["compiles"] == 1


def test_a_bundle_is_imported_over_connections_that_are_cut(daemon, relay, site, tmp_path):
    site.env["STOKER_URL"] = daemon.url
    run(site, CONSTANTS)
    bundle = tmp_path / "cache.bundle"
    site.tool("export", str(bundle))
    site.tool("purge", "--namespace", "default", "--yes")
    through = relay(lambda number: (None, 0), CUT_ASKED_AFTER)
    site.env["STOKER_URL"] = through.url
    sent = json.loads(site.tool("import", str(bundle), "--json"))
    assert sent["artifacts"] == 1 and sent["bytes"] > GRAPH_BYTES
    assert_that_uploads_went_on(through, sent["bytes"])
    site.env["STOKER_URL"] = daemon.url
    assert run(site, CONSTANTS)["source"] in ("memory", "disk")
    assert daemon.status()["stats"]["compiles"] == 1


def cut_somewhere(send, path, body):
    send(head(200, f"Content-Length: {len(body)}") + body[:20 + len(body) * (time.monotonic_ns() % 7) // 8])


def send_another_part(send, path, body):
    send(head(206, f"Content-Range: bytes 0-39/{len(body)}", "Content-Length: 40") + body[:40])


def send_no_part(send, path, body):
    send(head(206, "Content-Range: bytes 0-5/*", "Content-Length: 1000000") + body[:6])


@pytest.mark.parametrize("tell_of_blob", [cut_somewhere, send_another_part, send_no_part])
def test_downloads_that_get_no_further_are_an_error_soon(daemon, retold, site, tmp_path, tell_of_blob):
    run(site, WIDTHS, STOKER_URL=daemon.url)
    tries = []

    def tell(send, path, status, body):
        if not path.startswith("/cas/"):
            return send(whole(status, body))
        tries.append(path)
        tell_of_blob(send, path, body)
        return False

    site.env["STOKER_URL"] = retold(tell).url
    done = stoker(site, "export", tmp_path / "cache.bundle")
    assert done.returncode == 1 and f"{tries[0]} gets no further than" in done.stderr
    assert len(set(tries)) == 1 and len(tries) <= 100


def dribble(send, path, status, body):
    send(head(status, f"Content-Length: {len(body)}"))
    for byte in body:
        send(bytes([byte]))
        time.sleep(0.5)


def never_end(send, path, status, body):
    send(head(status, "Transfer-Encoding: chunked"))
    while True:
        send(b"1\r\na\r\n")
        time.sleep(0.5)


def stand_still(send, path, status, body):
    send(head(status, f"Content-Length: {len(body)}"))
    time.sleep(600)


@pytest.mark.parametrize(("tell", "said"), [
    (dribble, "is answered by fewer than 65536 more bytes within 1000 ms"),
    (never_end, "is answered by fewer than 65536 more bytes within 1000 ms"),
    (stand_still, "is answered by a header and nothing of its body within 1000 ms")])
def test_an_answer_that_does_not_come_on_is_not_waited_for(retold, site, tell, said):
    through = retold(tell)
    job = start(site, WIDTHS, STOKER_URL=through.url, STOKER_ANSWER_TIMEOUT_MS="1000")
    _, error = job.communicate(timeout=120)
    assert job.returncode == 1 and said in error


def interim(send, path, status, body):
    for each in (100, 103):
        send(head(each, "Link: </x>"))
    send(whole(status, body))


def twice(send, path, status, body):
    send(whole(status, body) + whole(200, b"of nothing that was asked"))


def too_much(send, path, status, body):
    send(whole(status, body) + b"more")


@pytest.mark.parametrize("tell", [interim, twice, too_much])
def test_each_request_gets_its_own_answer(daemon, retold, site, tell):
    through = retold(tell)
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] == "compiled"
    assert run(site, WIDTHS, STOKER_URL=through.url)["source"] == "memory"
    assert daemon.status()["stats"]["compiles"] == 1


def garble(send, path, status, body):
    send(whole(status, b"\x1f\x8b\xff" * 100))


# What a job's background thread does, and then the job itself.
CONNECT = """
import threading
from stoker.libstoker import client
client.connect_ahead()
[thread.join() for thread in threading.enumerate() if thread.name == "stoker-connect"]
for ask in (client.status, client.client().compiler_epoch):
    try:
        ask()
    except client.StokerError as error:
        print(error.kind)
"""


def test_bytes_that_are_no_text_are_an_error_and_no_traceback(retold, site):
    done = subprocess.run(
        [sys.executable, "-c", CONNECT], env={**site.env, "STOKER_URL": retold(garble).url}, capture_output=True,
        text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["data loss", "invalid argument"]


def test_a_fault_in_a_background_thread_is_one_line(site):
    code = 'from stoker.base import background; background.start("t", "nothing is done", lambda: 1 / 0).join()'
    done = subprocess.run([sys.executable, "-c", code], env=site.env, capture_output=True, text=True, timeout=120)
    assert done.stderr == "nothing is done, by a bug in Stoker: ZeroDivisionError('division by zero')\n"
