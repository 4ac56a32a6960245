"""Connections that are slow, or cut in the middle of a reply: jobs get what they asked for, or an error that says so."""

import pytest
from e2e.processes import Daemon, run, start
from e2e.relay import Relay

WIDTHS = (32, 48, 8, 4)
CUT_AFTER = 1000  # Bytes: more than any reply that is no content, and less than an artifact.


@pytest.fixture
def daemon(tmp_path):
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.process.kill()
    daemon.process.wait()


@pytest.fixture
def relay(daemon):
    made = []

    def make(plan):
        made.append(Relay(daemon.url, plan))
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
