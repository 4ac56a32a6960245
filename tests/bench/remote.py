#!/usr/bin/env python3
"""What a team's daemon does: it is on another host, over TLS and with a token; jobs come from hosts of their own.

usage: ./dev demo remote [--json] [--store] [--model NAME]

Hosts are network namespaces of this machine, with nothing between them but a bridge; the daemon is in a container
where buildah and debootstrap are there, else a process; each job has an empty cache folder. The first compiles remotely, the second starts warm, the third has a wrong token and the fourth expects
another daemon: they run in eager, and say so in a line.
"""

import argparse
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

import images
import store
from models import TITLES
from networks import Network
from rows import HERE, ROOT, cell, machine, program_named, say, table
from servers import make_certificate

PORT = 8471
WAIT_S = 120
JOB_TIMEOUT_S = 900


class RemoteDaemon:
    """stokerd on a host, at an address that others reach: in a container, or as a process where there is none."""

    def __init__(self, host, folder, token, container=None):
        folder.mkdir()
        make_certificate(folder, host.address)
        # A job believes in files of its own user.
        self.certificate = shutil.copy(folder / "tls.crt", folder.parent)
        tokens = folder / "tokens.toml"
        tokens.write_text(
            '[[token]]\nname = "demo"\nscopes = ["read", "write"]\n'
            f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n')
        tokens.chmod(0o600)
        self.url = f"https://{host.address}:{PORT}"
        self.log = folder / "stokerd.log"
        self._socket = folder / "stokerd.sock"
        there = Path("/run/stoker") if container else folder  # As the daemon sees the folder.
        cache = "/data/cache" if container else folder / "cache"
        command = [
            "stokerd" if container else program_named("stokerd"), "--cache-dir", cache, "--log-file",
            there / self.log.name, "--listen", self.url, "--listen", f"unix:{there / self._socket.name}", "--tokens",
            there / tokens.name, "--tls-certificate", there / "tls.crt", "--tls-key", there / "tls.key"]
        self._variables = {"STOKER_URL": f"unix:{self._socket}"}
        if container:
            for path in (folder, *folder.iterdir()):
                os.chown(path, images.USER, images.USER)
            command = container.command(*command, volumes={folder: there})
            self._variables["STOKER_DAEMON_USER"] = str(images.USER)
        self._process = subprocess.Popen(host.command(command))
        deadline = time.monotonic() + WAIT_S
        while not self._socket.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"stokerd does not listen: {self.log.read_text() if self.log.exists() else ''}")
            time.sleep(0.05)

    def tool(self, *arguments):
        """What the command line prints that runs beside the daemon."""
        return subprocess.run(
            [program_named("stoker"), *arguments], capture_output=True, text=True, check=True,
            env={**os.environ, **self._variables}).stdout

    def stats(self):
        return json.loads(self.tool("stats", "--json"))

    def signer(self):
        """The public key in which clients can believe."""
        return json.loads(self.tool("keys", "--json"))["daemon"]["signing_keys"][0]

    def close(self):
        self.tool("stop")
        self._process.wait(WAIT_S)


def make_container(folder):
    """One of an image of what is built, or None, with a line that says why."""
    if absent := images.missing():
        say(f"{absent} is missing: the daemon is a process.")
        return None
    say("The daemon's image ...")
    (folder / "image").mkdir()
    images.make_image(program_named("stokerd").parents[1], "stokerd-demo", folder / "image")
    return images.Container("stokerd-demo")


def run_job(host, model, folder, variables):
    """The figures of one process on a host, and what it said."""
    folder.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("STOKER_")}
    environment |= {
        "PYTHONPATH": str(ROOT / "client" / "python"), "HOME": str(folder),
        "STOKER_CACHE_DIR": str(folder / "cache"), "PYTHONWARNINGS": "ignore",
        "HF_HUB_OFFLINE": "1", **variables}
    process = subprocess.run(
        host.command([sys.executable, HERE / "measure.py", model, "float32", "1", "stoker", folder.parent]),
        env=environment, capture_output=True, text=True, timeout=JOB_TIMEOUT_S)
    lines = [line for line in process.stderr.splitlines() if line.strip()]
    if process.returncode:
        raise RuntimeError(f"The job on {host.name} fails: {process.stderr[-1000:]}")
    return json.loads(process.stdout.splitlines()[-1]), lines


def jobs(daemon, hosts, model, folder, token):
    key = folder / "team.pem"  # Of the jobs' captures: they are one team's.
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    key.chmod(0o600)
    known = {
        "STOKER_URL": daemon.url, "STOKER_TLS_CA": str(daemon.certificate), "STOKER_WRITER_KEY": str(key)}
    chosen = (
        ("compiles", {"STOKER_TOKEN": token}),
        ("starts warm", {"STOKER_TOKEN": token}),
        ("wrong token", {"STOKER_TOKEN": secrets.token_urlsafe(32)}),
        ("wrong pinned key", {"STOKER_TOKEN": token, "STOKER_SIGNERS": other_key(daemon.signer())}))
    rows = []
    before = daemon.stats()
    for host, (name, variables) in zip(hosts, chosen):
        say(f"{name} ...")
        figures, lines = run_job(host, model, folder / name.replace(" ", "-"), known | variables)
        after = daemon.stats()
        rows.append({
            "job": name, "host": host.address, "first_call_s": figures["first_call_s"],
            "steady_ms": 1e3 * figures["steady_s"], "rel_err": figures["rel_err"],
            "compiles": after["compiles"] - before["compiles"],
            "captures_found": after["captures"]["hits"] - before["captures"]["hits"],
            "said": lines})
        before = after
    return rows


def other_key(key):
    """One that nobody has."""
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--model", default="gpt2", choices=sorted(TITLES))
    store.add_arguments(parser)
    arguments = parser.parse_args()
    store.check_arguments(parser, arguments, whole=True)
    say(machine())
    with tempfile.TemporaryDirectory(prefix="stoker-remote-") as name:
        folder = Path(name)
        token = secrets.token_urlsafe(32)
        run_reference(arguments.model, folder)
        with contextlib.ExitStack() as stack:
            container = make_container(folder)
            if container:
                stack.callback(container.close)
            network = Network(["daemon", "a", "b", "c", "d"])
            stack.callback(network.close)
            server, *others = network.hosts
            daemon = RemoteDaemon(server, folder / "daemon", token, container)
            stack.callback(daemon.close)
            rows = jobs(daemon, others, arguments.model, folder, token)
    print(table(
        [f"{TITLES[arguments.model]}, float32", "host", "first call, s", "a call, ms", "error", "compiled"],
        [[row["job"], row["host"], cell(row["first_call_s"], ".2f"), cell(row["steady_ms"], ".2f"),
          cell(row["rel_err"], ".1e"), str(row["compiles"])] for row in rows]))
    for row in rows:
        for line in row["said"]:
            print(f"{row['job']}: {line}")
    if arguments.json:
        print(json.dumps({"rows": rows}))
    # What the page above promises.
    compiled, warm, *eager = rows
    kept = (compiled["compiles"] > 0 and warm["compiles"] == 0 and warm["captures_found"] > 0
            and all(row["compiles"] == 0 and len(row["said"]) == 1 for row in eager))
    if kept and arguments.store:
        run = store.conditions(torch.get_num_threads())
        say(f"Stored: {store.write('remote', run, rows, model=arguments.model, daemon='container' if container else 'process')}")
    return 0 if kept else 1


def run_reference(model, folder):
    """The float64 result that errors are measured from."""
    subprocess.run(
        [sys.executable, HERE / "measure.py", model, "float32", "1", "reference", folder], check=True,
        capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
