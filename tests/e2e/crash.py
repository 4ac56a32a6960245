"""Kill -9 of the daemon at random points, while clients write and read: what was acknowledged is there, what is
there is true, and nothing else stays behind.

usage: python -m e2e.crash [--rounds N] [--seed N] [--folder PATH]
"""

import argparse
import collections
import hashlib
import http.client
import json
import pathlib
import random
import re
import signal
import sys
import tempfile
import threading
import time
import urllib.parse

from e2e.processes import Daemon, wait_for

CLIENTS = 8
KEYS_PER_CLIENT = 40  # Of /ac: written again and again.
CHECKED = 300  # Names that every round reads; the last one reads all.


class Record:
    """What clients sent, and what was acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.blobs = {}  # Path -> digest, acknowledged.
        self.actions = {}  # Path -> digest, the latest that was acknowledged.
        self.unsure = collections.defaultdict(set)  # Path -> digests sent since, without an answer.
        self.sent = set()  # Digests.
        self.violations = []

    def violate(self, text):
        with self.lock:
            self.violations.append(text)

    def allowed(self, path):
        """Digests that may be found there; None is nothing at all."""
        with self.lock:
            if path.startswith("/cas/"):
                return {self.blobs[path]}
            return {self.actions.get(path), *self.unsure[path]}


def content(seed):
    """Bytes of any size up to 200 KB, most of them small; half of them do not compress."""
    source = random.Random(seed)
    size = int(100 * 2 ** source.uniform(0, 11))
    return source.randbytes(size) if source.random() < 0.5 else (str(seed) * size)[:size].encode()


def digest_of(body):
    return hashlib.sha256(body).hexdigest()


class Peer:
    """One connection, made anew when it breaks."""

    def __init__(self, url):
        address = urllib.parse.urlsplit(url)
        self._address = (address.hostname, address.port)
        self._connection = None

    def call(self, method, path, body=None):
        """Status and body; OSError or HTTPException when the daemon is gone."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(*self._address, timeout=300)
        try:
            self._connection.request(method, path, body)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise


class Client(threading.Thread):
    def __init__(self, number, round_number, url, record, stop):
        super().__init__(daemon=True)
        self._number, self._round = number, round_number
        self._random = random.Random(f"{number}/{round_number}")
        self._peer, self._record, self._stop_event = Peer(url), record, stop

    def run(self):
        step = 0
        while not self._stop_event.is_set():
            step += 1
            try:
                if self._random.random() < 0.6:
                    self._write(f"{self._number}/{self._round}/{step}")
                else:
                    self._read()
            except (OSError, http.client.HTTPException):
                return  # Killed.

    def _write(self, seed):
        body = content(seed)
        digest = digest_of(body)
        is_action = self._random.random() < 0.5
        key = f"{self._number} {self._random.randrange(KEYS_PER_CLIENT)}".encode()
        path = f"/ac/{digest_of(key)}" if is_action else f"/cas/{digest}"
        with self._record.lock:
            self._record.sent.add(digest)
            if is_action:
                self._record.unsure[path].add(digest)
        status, error = self._peer.call("PUT", path, body)
        if status == 503:
            return  # What is stored is not known yet.
        if status != 200:
            self._record.violate(f"PUT {path} answers {status}: {error!r}")
            return
        with self._record.lock:
            if is_action:
                self._record.actions[path] = digest
                self._record.unsure[path].clear()
            else:
                self._record.blobs[path] = digest

    def _read(self):
        with self._record.lock:
            # Of the others' actions it is not known what they are being replaced with.
            mine = [path for path in self._record.actions
                    if path in (f"/ac/{digest_of(f'{self._number} {i}'.encode())}"
                                for i in range(KEYS_PER_CLIENT))]
            paths = list(self._record.blobs) + mine
        if paths:
            check(self._peer, self._record, self._random.choice(paths))


def check(peer, record, path):
    status, body = peer.call("GET", path)
    allowed = record.allowed(path)
    if status == 200 and digest_of(body) in allowed:
        return
    if status == 404 and None in allowed:
        return
    record.violate(f"GET {path} answers {status} with {len(body)} bytes of {digest_of(body)}; "
                   f"expected {sorted(map(str, allowed))}")


def check_all(daemon, record, source, everything=False):
    with record.lock:
        paths = [*record.blobs, *record.actions, *(path for path in record.unsure
                                                   if path not in record.actions)]
    if not everything and len(paths) > CHECKED:
        paths = source.sample(paths, CHECKED)
    peer = Peer(daemon.url)
    for path in paths:
        check(peer, record, path)
    return len(paths)


def settle(daemon, record):
    """What was not acknowledged before the daemon was killed is there now, or is not."""
    peer = Peer(daemon.url)
    for path, digests in record.unsure.items():
        if not digests:
            continue
        status, body = peer.call("GET", path)
        if status == 200 and digest_of(body) in digests:
            record.actions[path] = digest_of(body)
        digests.clear()


def upkeep(daemon, work, body=b""):
    """The counts that the work's stream ends with."""
    status, stream = daemon.call("POST", f"/v1/cache/{work}", body)
    assert status == 200, stream
    counts = {}
    while stream:
        size = int.from_bytes(stream[:4], "little")
        event, stream = stream[4:4 + size], stream[4 + size:]
        if event[0] == 2 << 3 | 2:
            counts = counts_of(event)
    return counts


def fields(message):
    """(number, value) of each field of a protobuf message."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, place = message[place:place + value], place + value
        yield tag >> 3, value


def counts_of(event):
    [(_, report)] = fields(event)
    counts = {}
    for _, count in fields(report):
        parts = dict(fields(count))
        counts[parts[1].decode()] = parts.get(2, 0)
    return counts


def one_round(number, folder, record, source):
    log = folder / "log"
    log.unlink(missing_ok=True)
    daemon = Daemon(folder)
    try:
        if source.random() < 0.1:
            daemon.process.send_signal(signal.SIGKILL)  # It has only begun.
            return 0
        settle(daemon, record)
        checked = check_all(daemon, record, source)
        stop = threading.Event()
        clients = [Client(i, number, daemon.url, record, stop) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        if source.random() < 0.2:
            work = source.choice(["gc", "verify"])
            threading.Thread(target=try_upkeep, args=(daemon, work), daemon=True).start()
        time.sleep(source.uniform(0, 0.5))
        daemon.process.send_signal(signal.SIGKILL)
        stop.set()
        for client in clients:
            client.join()
        return checked
    finally:
        daemon.process.kill()
        daemon.process.wait()
        # A verification that finished says how much was damaged: that it was nothing is no complaint.
        if re.search(r"^\S+ (?:warn|error) .*damaged", log.read_text(), re.MULTILINE):
            record.violate(f"round {number}: {log.read_text()}")


def try_upkeep(daemon, work):
    try:
        upkeep(daemon, work)
    except (OSError, http.client.HTTPException, AssertionError, ValueError, IndexError):
        pass  # Killed.


def final_state(folder, record):
    """What there is after the last round: {name: number}."""
    (folder / "log").unlink(missing_ok=True)
    daemon = Daemon(folder)
    try:
        settle(daemon, record)
        wait_for(lambda: not daemon.status()["cache"]["loading"])
        checked = check_all(daemon, record, random.Random(0), everything=True)
        verified = upkeep(daemon, "verify")
        collected = upkeep(daemon, "gc")
        status = daemon.status()
        return {
            "acknowledged": len(record.blobs) + len(record.actions), "checked": checked,
            "sent": len(record.sent), "stored": status["stats"]["bytes"]["entries"],
            "stored_bytes": status["stats"]["bytes"]["stored"],
            "file_bytes": status["cache"]["disk_file_bytes"], "damaged": verified["damaged"],
            "unnamed": collected["unnamed_blobs"],
            "databases_set_aside": status["stats"]["databases_set_aside"],
            "violations": len(record.violations)}
    finally:
        daemon.stop()
        daemon.process.wait()


def rounds(count, folder, seed=0, tell=lambda text: None):
    """Runs them. What was found, and the violations."""
    source, record = random.Random(seed), Record()
    for number in range(count):
        checked = one_round(number, folder, record, source)
        tell(f"round {number + 1} of {count}: {len(record.sent)} sent, {checked} checked, "
             f"{len(record.violations)} violations")
        if record.violations:
            break
    return final_state(folder, record), record.violations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        state, violations = rounds(arguments.rounds, folder, arguments.seed,
                                   lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps(state))
    for text in violations:
        print(text, file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
