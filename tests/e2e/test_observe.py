"""What somebody on call looks at: whose turn it is in the queue, why a request missed, where a compile's time went."""

import codecs
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest
from e2e import light_job
from e2e.processes import BUILD, WAIT_S, HeldWorkers, run, start, wait_for

# Where a machine is busy with other tests, no daemon is slow.
PATIENT = dict(os.environ, STOKER_ANSWER_TIMEOUT_MS="300000")


def compiled_by(daemon):
    """The namespaces of what was compiled, in order."""
    return re.findall(r"compiled .*namespace=(\S+)", daemon.log.read_text())


def test_a_tenant_with_a_long_queue_does_not_delay_another(daemon, site):
    busy = daemon()
    workers = HeldWorkers(busy.process.pid)

    def ask(tenant, width):
        waiting = busy.status()["queue"]
        before = waiting["running"] + waiting["waiting"]
        job = start(site, (32, width, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE=tenant)
        wait_for(lambda: sum(busy.status()["queue"][key] for key in ("running", "waiting")) > before)
        return job

    jobs = [ask("flood", 16 * count) for count in range(1, 5)]
    jobs.append(ask("other", 80))
    workers.release()
    assert [site.finish(job)["source"] for job in jobs] == ["compiled"] * 5
    # One ran already; then the other's turn comes, whoever came before.
    assert compiled_by(busy) == ["flood", "other", "flood", "flood", "flood"]


def test_a_full_queue_is_closed_to_who_filled_it_alone(daemon, site):
    busy = daemon("--queue-limit", "2")
    workers = HeldWorkers(busy.process.pid)
    jobs = [start(site, (32, 16 * count, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE="flood")
            for count in range(1, 4)]
    wait_for(lambda: busy.status()["queue"]["waiting"] == 1)
    wait_for(lambda: 'stoker_http_requests_total{route="/v1/compile",code="503"}'
             in busy.call("GET", "/metrics")[1].decode())
    jobs.append(start(site, (32, 80, 8, 4), STOKER_URL=busy.url, STOKER_NAMESPACE="other"))
    wait_for(lambda: busy.status()["queue"]["waiting"] == 2)
    workers.release()
    assert [site.finish(job)["source"] for job in jobs] == ["compiled"] * 4  # Who was refused came again.
    assert compiled_by(busy).index("other") == 1


def ask(daemon, site, widths, **env):
    return run(site, widths, STOKER_URL=daemon.url, STOKER_JOB="train/7", **env)


def tool(daemon, *arguments, code=0):
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), "--url", daemon.url, *map(str, arguments)], capture_output=True,
        text=True, timeout=WAIT_S, env=PATIENT)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_explain_says_why_a_job_and_a_key_missed(daemon, site):
    here = daemon()
    first = ask(here, site, (32, 48, 8, 4))["request_key"]
    second = ask(here, site, (32, 64, 8, 4))["request_key"]
    lines = tool(here, "explain", "train/7").splitlines()
    # The newest first: another graph, then the first of all.
    assert f"{second[:16]}  graph is new" in lines[0]
    assert lines[1].split() == ["nearest", first[:16]]
    assert lines[2].split() == ["differs", "in", "graph"]
    assert any(f"{first[:16]}  namespace is empty" in line for line in lines)
    known = json.loads(tool(here, "explain", "train/7", "--json"))
    assert [miss["key"] for miss in known["misses"]] == [second, first]
    assert known["misses"][0]["nearest"]["key"] == first

    for prefix in (second, second[:8]):
        text = tool(here, "explain", prefix)
        assert f"request {second}\n" in text
        assert "in namespace default: chain for cpu/" in text
        assert re.search(r"graph is new \(job train/7\)\n +nearest +" + first[:16], text)
    assert "is remembered" in tool(here, "explain", "no-such-job", code=1)
    assert "train/7" in tool(here, "explain", "no-such-job", code=1)
    assert "No request" in tool(here, "explain", "0" * 16, code=1)

    # Another daemon knows nothing of the miss, and compares with what is stored.
    here.stop()
    here.log.unlink()
    again = daemon()
    text = tool(again, "explain", second)
    assert "no miss of it is remembered" in text
    assert re.search(r"nearest +" + first[:16] + r"\n +differs in graph", text)


def test_a_beginning_of_several_keys_lists_them(daemon):
    here = daemon()
    keys = [bytes([0xAB] * 8 + [last] * 24) for last in (1, 2)]
    for key in keys:
        assert here.call("POST", "/v1/lookup", b"\x12\x20" + key)[0] == 404  # Field 2: the request key.
    lines = tool(here, "explain", "abababab", code=1).splitlines()
    assert lines == ["Several keys start with 'abababab':", *(f"  {key.hex()}" for key in keys)]
    assert json.loads(tool(here, "explain", "abababab", "--json"))["keys"] == [key.hex() for key in keys]
    assert f"request {keys[0].hex()}\nnot stored\nmissed:\n" in tool(here, "explain", keys[0].hex()[:18])


def test_a_trace_shows_every_step_of_a_compile(daemon, site, tmp_path):
    here = daemon()
    result = ask(here, site, (32, 48, 8, 4))
    for which in (result["request_key"], result["request_key"][:8], "--last"):
        path = tmp_path / "out.json"
        tool(here, "trace", which, "-o", path)
        trace = json.loads(path.read_text())
        assert trace["otherData"]["key"] == result["request_key"]
        assert trace["otherData"]["job"] == "train/7"
        assert trace["otherData"]["request_id"] in here.log.read_text()
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        names = [span["name"] for span in spans]
        assert [span["name"] for span in spans if span["cat"] == "daemon"] == [
            "queue", "hand over", "compile", "check", "store"]
        for name in ("decode", "verify", "canonicalize", "fold constants", "simplify", "fold scaling", "fuse", "lower",
                     "plan memory", "plan launches", "find kernels", "compile kernels", "encode"):
            assert names.count(name) >= 1, name
        for name in ("kernel", "emit", "optimize", "assemble", "link"):
            assert names.count(name) == result["kernels_unique"], name
        root = next(span for span in spans if span["cat"] == "request")
        assert root["args"]["key"] == result["request_key"] and root["name"] == "chain"
        assert all(span["ts"] + span["dur"] <= root["dur"] for span in spans)
        # On one thread, spans lie in each other or apart: that is what viewers draw.
        for track in {(span["pid"], span["tid"]) for span in spans}:
            own = sorted(((span["ts"], -span["dur"]) for span in spans if (span["pid"], span["tid"]) == track))
            open_ends = []
            for begin, length in own:
                end = begin - length
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                assert not open_ends or end <= open_ends[-1] + 1  # Of microseconds, cut.
                open_ends.append(end)


def test_a_graph_in_a_file_is_traced_and_a_stored_one_anew(daemon, site, tmp_path):
    here = daemon()
    graph = tmp_path / "chain.graph"
    graph.write_text(light_job.graph_text((32, 48, 8, 4)))
    first = json.loads(tool(here, "trace", "--graph", graph, "-o", "-"))
    assert first["traceEvents"] and here.status()["stats"]["compiles"] == 1
    here.stop()
    here.log.unlink()
    again = daemon()
    key = first["otherData"]["key"]
    tool(again, "trace", key, code=1)  # A new daemon has compiled nothing.
    for arguments in ((key, "--anew"), ("--graph", graph)):
        trace = json.loads(tool(again, "trace", *arguments, "-o", "-"))
        assert trace["otherData"]["key"] == key
        assert [event["name"] for event in trace["traceEvents"]].count("kernel") > 0
    assert again.status()["stats"]["compiles"] == 1  # Nothing was compiled to be stored.


@pytest.mark.parametrize("arguments", [
    ("trace",), ("trace", "--last", "--anew"), ("trace", "12345678", "--last"), ("trace", "abc"), ("trace", "ABCDEF01"),
    ("top", "--interval", "0")])
def test_wrong_arguments_are_refused(daemon, arguments):
    tool(daemon(), *arguments, code=2)


class Screen:
    """`stoker top` on a terminal of its own."""

    def __init__(self, daemon, *arguments, rows=30, columns=100):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.resize(rows, columns)
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()  # The kernel hands over what was written in any pieces.
        self.process = subprocess.Popen(
            [str(BUILD / "bin" / "stoker"), "--url", daemon.url, "top", "--interval", "0.1", *arguments], stdin=slave,
            stdout=slave, stderr=slave, start_new_session=True, env=PATIENT,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0))
        self.slave = slave

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.text += self.decoder.decode(os.read(self.master, 65536))
        return self.text

    def frame(self):
        """The lines of the latest that was shown whole."""
        frames = re.findall(r"\x1b\[H((?:(?!\x1b\[H).)*)\x1b\[J", self.read(), re.DOTALL)
        return re.sub(r"\x1b\[K|\r", "", frames[-1]).split("\n") if frames else []

    def see(self, text, after=lambda: None):
        """Waits until it shows `text`, from now on, when `after` has been called."""
        self.read()
        self.text = ""
        after()
        wait_for(lambda: text in self.read())

    def type(self, keys):
        os.write(self.master, keys.encode())

    def assert_restored(self):
        wait_for(lambda: self.read().endswith("\x1b[?25h\x1b[?1049l"))
        assert termios.tcgetattr(self.slave) == self.before

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def screen():
    made = []

    def make(*arguments, **options):
        made.append(Screen(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_top_shows_what_happens_and_obeys_keys(daemon, site, screen):
    here = daemon()
    workers = HeldWorkers(here.process.pid)
    job = start(site, (32, 48, 8, 4), STOKER_URL=here.url, STOKER_JOB="train/7")
    top = screen(here)
    top.see("1 running, 0 waiting of 256")
    top.see("chain")
    top.see("train/7")
    workers.release()
    assert site.finish(job)["source"] == "compiled"
    top.see("0 running, 0 waiting of 256; 15 min: 1 done, 0 failed")
    top.see("sort: requests")
    top.type("s")
    top.see("sort: misses")
    top.type("p")
    top.see("[paused]")
    top.type("p")
    top.see("p pause")
    top.type("q")
    assert top.process.wait(WAIT_S) == 0
    top.assert_restored()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_top_restores_the_terminal_when_it_is_ended(daemon, screen, number):
    top = screen(daemon())
    top.see("hit rate")
    top.process.send_signal(number)
    assert top.process.wait(WAIT_S) == -number
    top.assert_restored()


def test_top_lends_the_terminal_back_while_it_is_stopped(daemon, screen):
    top = screen(daemon())
    top.see("hit rate")
    top.process.send_signal(signal.SIGTSTP)
    stat = pathlib.Path(f"/proc/{top.process.pid}/stat")
    wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    top.assert_restored()
    top.see("\x1b[?1049h", after=lambda: top.process.send_signal(signal.SIGCONT))
    top.see("hit rate")
    top.type("q")
    assert top.process.wait(WAIT_S) == 0
    top.assert_restored()


def test_top_follows_the_size_of_its_terminal(daemon, screen):
    top = screen(daemon(), rows=30, columns=100)
    top.see("MODELS, 15 MIN")
    top.resize(4, 20)
    wait_for(lambda: len(top.frame()) == 4)
    assert all(len(line) <= 20 for line in top.frame())
    top.resize(1, 1)
    wait_for(lambda: top.frame() == ["s"])


def test_top_outlives_the_daemon_and_starts_none(daemon, screen):
    here = daemon()
    top = screen(here)
    top.see("hit rate")
    here.stop()
    top.see("NOT ANSWERING")
    here.log.unlink()
    top.type("q")
    assert top.process.wait(WAIT_S) == 0


def test_top_without_a_terminal_prints_once(daemon, site):
    here = daemon()
    ask(here, site, (32, 48, 8, 4))
    text = tool(here, "top", "--interval", "0.1")
    assert "\x1b" not in text and "q quit" not in text
    assert re.search(r"^train/7 +default +0 +1 +1 ", text, re.MULTILINE)
    assert re.search(r"^chain +default +0 +0 +1 ", text, re.MULTILINE)
    assert re.search(r"connections \d+ \(1 answering", text)
    here.stop()
    tool(here, "top", code=1)
