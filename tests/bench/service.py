#!/usr/bin/env python3
"""How fast does the daemon answer, beside nginx's static files and redis, and does it bear a crowd?

usage: ./dev bench service [--json] [--store] [--rounds N] [--seconds S] [--only CASE]

Requests per second and latency: wrk with one thread and 32 connections that stay, redis-benchmark with as many; each
server in turn, N rounds of S seconds, medians. All run on this machine: what the load takes, no server has. TLS is
1.3, with session keys of one certificate. "lookup" is what a warm start asks: a request key that is found, with
its artifact and kernels; nobody else does that.

Stampede: 1,000 connections (crowd.cc) ask for one missing key within a tenth of a second. p99_after_compile_ms: from
the end of the compile, as the daemon logs it, to a client's last byte; for those that ask later, who are not among
those `waiting`, from their request. Idle: 10,000 connections of which none asks.
"""

import argparse
import csv
import datetime
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import store
from figures import figure, median, ratio
from rows import ROOT, cell, machine, program_named, say, table
from servers import PAYLOADS, Between, Nginx, Redis, Stoker, make_certificate, payload

CONNECTIONS = 32
STAMPEDE_CLIENTS = 1000
STAMPEDE_WITHIN_S = 0.1  # Before it is compiled.
IDLE_CONNECTIONS = 10000
REDIS_REQUESTS_PER_SECOND = 20000  # About: a round ends after a number of requests.
MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
LOOKUP_WIDTHS = (64, 48, 8, 4)
STAMPEDE_WIDTHS = tuple(range(40, 52))


# ---- Load -----------------------------------------------------------------------------------------


def measure_http(url, seconds, script=None):
    """{"requests_per_s", "p50_ms", "p99_ms"} of wrk."""
    arguments = ["-s", str(script)] if script else []
    done = subprocess.run(
        ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s", "--latency", *arguments, url],
        capture_output=True, text=True, check=True)
    if trouble := re.findall(r"^\s*(?:Non-2xx|Socket errors).*", done.stdout, re.MULTILINE):
        raise RuntimeError(f"{url}: {trouble[0].strip()}")
    latency = {
        share: float(number) * MILLISECONDS[unit] for share, number, unit in
        re.findall(r"^\s+(\d+)%\s+([\d.]+)(us|ms|s)$", done.stdout, re.MULTILINE)}
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    return {"requests_per_s": float(rate[1]), "p50_ms": latency["50"], "p99_ms": latency["99"]}


def measure_redis(port, key, seconds):
    done = subprocess.run(
        ["redis-benchmark", "-p", str(port), "-c", str(CONNECTIONS), "-n",
         str(int(REDIS_REQUESTS_PER_SECOND * seconds)), "--csv", "GET", key],
        capture_output=True, text=True, check=True)
    [line] = csv.DictReader(done.stdout.splitlines())
    return {"requests_per_s": float(line["rps"]), "p50_ms": float(line["p50_latency_ms"]),
            "p99_ms": float(line["p99_latency_ms"])}


class Post:
    """A script for wrk that posts these bytes."""

    def __init__(self, folder, body):
        (folder / "body").write_bytes(body)
        self.path = folder / "post.lua"
        self.path.write_text(
            f'wrk.method = "POST"\nwrk.body = io.open("{folder}/body", "rb"):read("*a")\n'
            'wrk.headers["Content-Type"] = "application/x-protobuf"\n')


def ask_of_job(daemon, widths):
    """{path: the requests that a job of these widths makes there}: of a compile the first without its graph."""
    between = Between(daemon)
    try:
        with tempfile.TemporaryDirectory() as home:
            subprocess.run(
                [sys.executable, ROOT / "tests" / "e2e" / "light_job.py", *map(str, widths)],
                env={**os.environ, "STOKER_URL": between.url, "HOME": home}, check=True,
                capture_output=True)
        return {path: between.requests(path) for path in ("/v1/lookup", "/v1/compile")}
    finally:
        between.close()


# ---- Rates ----------------------------------------------------------------------------------------


def cases_of(folder, stoker, nginx, redis):
    """{case: {server: what measures it}}."""
    cases = {}
    for name in PAYLOADS:
        content = payload(name)
        paths = {server: server.put(content) for server in (stoker, nginx, redis)}

        def over_http(server, scheme, paths=paths):
            port = server.https if scheme == "https" else server.http
            return lambda seconds: measure_http(f"{scheme}://127.0.0.1:{port}{paths[server]}", seconds)

        cases[name] = {
            "stokerd": over_http(stoker, "http"), "nginx": over_http(nginx, "http"),
            "redis": lambda seconds, key=paths[redis]: measure_redis(redis.port, key, seconds)}
        cases[f"{name}, TLS"] = {
            "stokerd": over_http(stoker, "https"), "nginx": over_http(nginx, "https")}
    script = Post(folder, ask_of_job(stoker, LOOKUP_WIDTHS)["/v1/lookup"][0])
    cases["lookup"] = {
        "stokerd": lambda seconds: measure_http(stoker.url + "/v1/lookup", seconds, script.path)}
    return cases


def rates(cases, rounds, seconds):
    """Rows; servers take turns, so that what the machine does otherwise meets all of them."""
    rows = []
    for case, servers in cases.items():
        samples = {name: [] for name in servers}
        for place in range(rounds):
            for name, measured in servers.items():
                say(f"{case}, {name}, round {place + 1} of {rounds} ...")
                samples[name].append(measured(seconds))
        for name, taken in samples.items():
            figures = {key: figure([sample[key] for sample in taken]) for key in taken[0]}
            rows.append({"case": case, "server": name,
                         **{key: median(value) for key, value in figures.items()},
                         "figures": figures})
    return rows


# ---- Crowds ---------------------------------------------------------------------------------------


def raise_descriptor_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def stampede(folder, known):
    """`known`: a daemon of which a job can be asked what it asks; another one does not have that."""
    requests = ask_of_job(known, STAMPEDE_WIDTHS)
    (folder / "stampede").mkdir()
    bodies = [requests["/v1/lookup"][0], *requests["/v1/compile"][:2]]
    files = [folder / "stampede" / f"body{place}" for place in range(len(bodies))]
    for file, body in zip(files, bodies):
        file.write_bytes(body)
    daemon = Stoker(folder / "stampede", tls=False)
    try:
        done = subprocess.run(
            [program_named("crowd"), str(daemon.http), str(STAMPEDE_CLIENTS), str(STAMPEDE_WITHIN_S), *files],
            capture_output=True, text=True, check=True)
        clients = [line.split() for line in done.stdout.splitlines()]
        compiled = re.findall(r"^(\S+) info compiled ", daemon.log.read_text(), re.MULTILINE)
    finally:
        daemon.close()
    end = max(datetime.datetime.fromisoformat(moment).timestamp() for moment in compiled)
    clients = [(float(asked), float(ended), served == "1") for asked, ended, served in clients]
    waits = sorted(1e3 * (ended - max(asked, end)) for asked, ended, _ in clients)
    return {"clients": len(clients), "compiles": len(compiled), "errors": sum(not served for *_, served in clients),
            "waiting": sum(asked < end for asked, *_ in clients), "p99_after_compile_ms": waits[len(waits) * 99 // 100]}


def is_open(connection):
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True


def idle(folder):
    most = raise_descriptor_limit()
    wanted = min(IDLE_CONNECTIONS, most - 256)
    (folder / "idle").mkdir()
    daemon = Stoker(folder / "idle", tls=False)
    held = []
    try:
        for _ in range(wanted):
            held.append(socket.create_connection(("127.0.0.1", daemon.http)))
        # The last one answers, after which all before it were taken in.
        held[-1].sendall(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        held[-1].recv(4096)
        connections = sum(is_open(connection) for connection in held)
        return {"connections": connections, "rss_mib": daemon.rss_mib()}
    finally:
        for connection in held:
            connection.close()
        daemon.close()


# ---- The run --------------------------------------------------------------------------------------


def print_rows(rows):
    by_case = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[row["server"]] = row["requests_per_s"]
    lines = [[row["case"], row["server"], cell(row["requests_per_s"], ",.0f"),
              cell(row["p50_ms"], ".2f"), cell(row["p99_ms"], ".2f"),
              cell(ratio(by_case[row["case"]].get("stokerd"), row["requests_per_s"]), ".2f")]
             for row in rows]
    print(table(["", "server", "requests/s", "p50, ms", "p99, ms", "stokerd's multiple"], lines))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: 3)")
    parser.add_argument("--seconds", type=int, default=4, metavar="S", help="of a round (default: 4)")
    parser.add_argument("--only", default="", metavar="CASE",
                        help="one of the cases, 'stampede' or 'idle'")
    store.add_arguments(parser)
    arguments = parser.parse_args()
    store.check_arguments(parser, arguments, whole=not arguments.only)
    run = store.conditions(os.cpu_count())
    say(machine())
    result = {"rows": [], "stampede": None, "idle": None}
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as name:
        folder = Path(name)
        make_certificate(folder)
        stoker = Stoker(folder)
        peers = [Nginx(folder), Redis(folder)]
        try:
            cases = cases_of(folder, stoker, *peers)
            if arguments.only not in ("", "stampede", "idle", *cases):
                parser.error(f"no case '{arguments.only}': {', '.join(cases)}, stampede, idle.")
            chosen = {case: servers for case, servers in cases.items()
                      if arguments.only in ("", case)}
            result["rows"] = rates(chosen, arguments.rounds, arguments.seconds)
            if arguments.only in ("", "stampede"):
                result["stampede"] = stampede(folder, stoker)
            if arguments.only in ("", "idle"):
                result["idle"] = idle(folder)
        finally:
            for server in (stoker, *peers):
                server.close()
    if result["rows"]:
        print_rows(result["rows"])
    if result["stampede"]:
        print("\nStampede: {clients} clients, {waiting} waiting at its end, {compiles} compiles, {errors} errors, the slowest "
              "hundredth served {p99_after_compile_ms:.0f} ms after the compile.".format(**result["stampede"]))
    if result["idle"]:
        print("Idle: {connections} connections in {rss_mib:.0f} MiB.".format(**result["idle"]))
    if arguments.store:
        rows = result.pop("rows")
        say(f"Stored: {store.write('service', run, rows, **result)}")
        result["rows"] = rows
    if arguments.json:
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
