"""What goes over the wire and is not what it should be: artifacts to a client, requests to a daemon."""

import pytest
from e2e.processes import Between, Daemon, run
from e2e.stranger import field, varint

WIDTHS = (32, 48, 8, 4)
OTHER_WIDTHS = (8, 16, 24)


@pytest.fixture
def daemon(daemon):
    return daemon()


@pytest.fixture
def between(daemon):
    """Makes one, whose jobs are to use it."""
    made = []

    def make(change=lambda path, status, reply: reply):
        made.append(Between(daemon, change))
        return made[-1]

    yield make
    for each in made:
        each.close()


def parts(bundle):
    """The artifact, which is a bundle's first field, and the bytes behind it."""
    assert bundle[0] == 1 << 3 | 2
    size, place, shift = 0, 1, 0
    while True:
        byte = bundle[place]
        size |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return bundle[place:place + size], bundle[place + size:]


def truncated(artifact):
    return artifact[:-1]


def flipped(artifact):
    spoiled = bytearray(artifact)
    spoiled[len(spoiled) // 2] ^= 1
    return bytes(spoiled)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "a flipped kernel"])
def test_an_artifact_spoiled_on_its_way_is_refused_reported_and_had_again(
        daemon, between, site, damage):
    found = []

    def change(path, status, reply):
        if path != "/v1/lookup" or status != 200:
            return reply
        found.append(reply)
        artifact, blobs = parts(reply)
        if damage == "foreign":
            return found[0]
        if damage == "a flipped kernel":
            return field(1, artifact) + flipped(blobs)
        return field(1, {"truncated": truncated, "flipped": flipped}[damage](artifact)) + blobs

    for widths in (OTHER_WIDTHS, WIDTHS):
        run(site, widths, STOKER_URL=daemon.url)
    url = between(change).url
    if damage == "foreign":
        assert run(site, OTHER_WIDTHS, STOKER_URL=url)["source"] == "memory"
    spoiled = run(site, WIDTHS, STOKER_URL=url)
    assert spoiled["miss_reason"].startswith("refused: "), spoiled
    assert spoiled["source"] == "memory"  # The daemon's own is sound.
    stats = daemon.status()["stats"]
    assert stats["client"] == {"artifacts_refused": 1}
    assert (stats["compiles"], stats["quarantined"]) == (2, 0)


def test_the_graph_travels_when_the_daemon_asks_for_it(daemon, between, site):
    relay = between()
    run(site, WIDTHS, STOKER_URL=relay.url)
    asked, sent = [body for path, body in relay.requests if path == "/v1/compile"]
    assert b"STKG" not in asked and b"STKG" in sent


def test_malformed_requests_get_a_4xx_that_names_the_field_and_others_are_served(
        daemon, between, site):
    relay = between()
    run(site, WIDTHS, STOKER_URL=relay.url)
    good = next(body for path, body in relay.requests if path == "/v1/compile")
    # Of a field that comes twice the last one counts.
    for body, name in (
            (b"\xff\xff\xff", "compile"), (b"", "compile.request_key"), (good[:-3], "compile"),
            (good + field(3, b"nonsense"), "compile.graph"),
            (good + field(3, b"\0" * 64), "compile.graph"),
            (good + field(2, b"short"), "compile.request_key"),
            (good + field(2, b"k" * 32), "compile.request_key"),
            (good + field(5, b"\xff\xfe"), "compile.graph_name"),
            (good + field(7, b"mips"), "compile.target"),
            (good + field(9, b"older"), "compile.compiler_epoch")):
        status, error = daemon.call("POST", "/v1/compile", body)
        assert 400 <= status < 500, name
        assert f"'{name}'".encode() in error, (name, error)
        assert daemon.call("GET", "/-/ready")[0] == 200
    assert run(site, WIDTHS, STOKER_URL=daemon.url)["source"] == "memory"
    assert run(site, OTHER_WIDTHS, STOKER_URL=daemon.url)["source"] == "compiled"
    stats = daemon.status()["stats"]
    assert (stats["compiles"], stats["compile_failures"]) == (2, 0)
