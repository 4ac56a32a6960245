"""Clients that nobody knows: a thousand who want one thing at once, and graphs that are meant to harm."""

import asyncio
import json
import resource
import threading
import time

from e2e import stranger
from e2e.processes import HeldWorkers, run
from e2e.stranger import CONSTANT, NEGATE, Connection, Request, graph, node, tensor

CLIENTS = 1000
SMALL = tensor(4)


def chain(length, of=SMALL):
    """Negates its input so often."""
    return graph([of], [node(NEGATE, [i], of) for i in range(length)], [length])


def layers(width, count):
    """A graph whose compile takes a while: inputs of different sizes, each negated."""
    kinds = [tensor(width + i) for i in range(count)]
    return graph(kinds, [node(NEGATE, [i], kind) for i, kind in enumerate(kinds)],
                 range(count, 2 * count))


async def ask(connection, request, sent, ends):
    """As clients do: the key alone first, the graph when the daemon asks for it."""
    status, _ = await connection.call("POST", "/v1/lookup", request.lookup)
    assert status == 404
    kind, answer = await connection.compile(request.by_key)
    if kind != "bundle":
        assert kind == "failed precondition" and "send the graph" in answer, (kind, answer)
        sent.append(1)
        kind, answer = await connection.compile(request.whole)
    ends.append(time.monotonic())
    return kind, answer


async def stampede(url, workers):
    opening = await Connection(url).open()
    request = Request(layers(100, 8), await opening.epoch())
    connections = [await Connection(url).open() for _ in range(CLIENTS)]
    sent, ends = [], []
    asked = [asyncio.create_task(ask(connection, request, sent, ends)) for connection in connections]
    # All are there before the compile makes progress.
    while True:
        pages = (await opening.call("GET", "/metrics"))[1].decode()
        lookups = 'stoker_http_requests_total{route="/v1/lookup",code="404"} '
        if sent and f"{lookups}{CLIENTS}\n" in pages:
            break
        await asyncio.sleep(0.05)
    workers.release()
    answers = await asyncio.gather(*asked)
    for connection in (*connections, opening):
        connection.close()
    return answers, len(sent), sorted(end - min(ends) for end in ends)


def test_a_thousand_who_miss_one_key_cost_one_compile_and_one_graph(daemon):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    served = daemon()
    answers, sent, waits = asyncio.run(
        stampede(served.url, HeldWorkers(served.process.pid)))
    assert {kind for kind, _ in answers} == {"bundle"}
    artifacts = {stranger.fields_of(bundle)[1] for _, bundle in answers}
    assert len(artifacts) == 1
    stats = served.status()["stats"]
    assert stats["compiles"] == 1
    assert stats["hits"]["total"] == CLIENTS - 1
    # One, but where a client takes seconds to send what it was asked for.
    assert 1 <= sent < 10
    print(f"graphs sent: {sent}; after the first answer: p50 {waits[len(waits) // 2] * 1e3:.0f} ms, "
          f"p99 {waits[len(waits) * 99 // 100] * 1e3:.0f} ms")


def test_who_was_asked_for_the_graph_and_leaves_is_not_waited_for(daemon):
    async def play(url):
        first, second, third = [await Connection(url).open() for _ in range(3)]
        request = Request(chain(2), await first.epoch())
        assert (await first.compile(request.by_key))[0] == "failed precondition"
        first.close()
        assert (await second.compile(request.by_key))[0] == "failed precondition"  # Its turn.
        assert (await second.compile(request.whole))[0] == "bundle"
        assert (await third.compile(request.by_key))[0] == "bundle"

    served = daemon()
    asyncio.run(play(served.url))
    assert served.status()["stats"]["compiles"] == 1


def cut(encoded):
    return encoded[:-3]


HOSTILE = {
    # What it is: the graph, what the answer says; None where a small artifact is right as well.
    "more nodes than there may be": (lambda: chain((1 << 20) + 1), "1048576"),
    "many nodes": (lambda: chain(100000), None),
    "a size beyond all numbers": (lambda: chain(1, tensor(1 << 62, 1 << 62)), "compile.graph"),
    "a negative size": (lambda: chain(1, tensor(-5)), "compile.graph"),
    "a deep expression": (
        lambda: chain(1, tensor("s0", "max(" * 200 + "s0" + ",1)" * 200)), "compile.graph"),
    "a long expression": (lambda: chain(1, tensor("s0", "+".join(["s0"] * 3000))), "4096"),
    "products that grow": (
        lambda: chain(1, tensor("s0", "*".join(["(s0+s1+s2+s3+1)"] * 60))), "compile.graph"),
    "a terabyte of constants": (
        lambda: graph([SMALL], [
            node(CONSTANT, [], tensor(1 << 38), b"\0\0\x80\x3f"), node(NEGATE, [1], tensor(1 << 38))], [2]), None),
    "a terabyte announced": (
        lambda: graph([SMALL], [], [0])[:-20] + b"\xff" * 20, "compile.graph"),
    "a count beyond the bytes": (
        lambda: b"STKG\1\0\0\0" + b"\xff" * 8, "compile.graph"),
    "an op that does not exist": (lambda: graph([SMALL], [node(60000, [0], SMALL)], [1]), "60000"),
    "an operand from the future": (lambda: graph([SMALL], [node(NEGATE, [7], SMALL)], [1]), "Operand 0"),
    "dead nodes": (
        lambda: graph([SMALL], [node(NEGATE, [0], SMALL), node(NEGATE, [0], SMALL)], [1]), "canonical"),
    "a cut graph": (lambda: cut(chain(3)), "compile.graph"),
    "nothing but zeros": (lambda: bytes(1 << 20), "compile.graph"),
}


def test_hostile_graphs_cost_their_sender_an_error_and_nobody_else_anything(daemon, site):
    target = daemon(
        "--workers", "2", "--compile-timeout-s", "20", "--compile-memory-mib", "2048", "--log-format", "json")
    answers = {}

    async def attack():
        connection = await Connection(target.url).open()
        epoch = await connection.epoch()
        for number, (name, (make, _)) in enumerate(HOSTILE.items()):
            body = Request(make(), epoch).whole
            answers[name] = await connection.compile(body, f"hostile-{number}")

    attacker = threading.Thread(target=lambda: asyncio.run(attack()))
    attacker.start()
    width = 8
    while attacker.is_alive():
        assert run(site, (width, 4), STOKER_URL=target.url)["source"] == "compiled"
        width += 1
    attacker.join()
    assert width > 8
    assert answers.keys() == HOSTILE.keys()
    for name, (_, said) in HOSTILE.items():
        kind, answer = answers[name]
        assert kind != "internal", (name, answer)
        if said is not None:
            assert kind in ("invalid argument", "data loss", "resource exhausted", "unimplemented"), (name, kind)
            assert said in answer, (name, kind, answer)
    stats = target.status()["stats"]
    assert stats["compiles"] >= width - 8
    assert set(stats["compile_failure_classes"]) <= {"diagnostic", "timeout", "memory"}
    lines = [json.loads(line) for line in target.log.read_text().splitlines()]
    failed = {line["request"] for line in lines if line["message"].startswith("compile fails")}
    refused = [f"hostile-{i}" for i, (_, said) in enumerate(HOSTILE.values()) if said is not None]
    assert failed >= set(refused)
    assert run(site, (8, 4), STOKER_URL=target.url)["source"] == "memory"


def test_workers_are_confined_and_status_says_so(daemon, site):
    served = daemon()
    run(site, (8, 4), STOKER_URL=served.url)
    workers = served.status()["workers"]
    # What needs no privilege is everywhere; the rest is what this host allows.
    assert {"capabilities", "limits", "syscalls", "code"} <= set(workers["protections"])
    missing = workers["missing_protections"]
    assert not set(missing) & set(workers["protections"])
    said = "This host lets compile workers run without" in served.log.read_text()
    assert said == bool(missing)
