"""Requests that are none, or not what they should be, of everything that a daemon answers, for test_hostile.py, which
prints how many were tried. `verdict` is "" where what came back is an answer or a clear error, else what is wrong with it."""

import random
import re
import socket
import time
import urllib.parse

from e2e.stranger import field, fields_of, varint

PATIENCE_S = 60
# What a refusal may be. 501: a transfer coding that is not known; 503 and 507 say that it may come again.
ERRORS = {*range(400, 500), 501, 503, 507}
UPLOAD = "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 8\r\n"
PARTIAL = "Content-Type: application/partial-upload\r\nUpload-Complete: ?1\r\n"


class Peer:
    """A connection that sends whatever it is told."""

    def __init__(self, url):
        address = urllib.parse.urlparse(url)
        if address.scheme == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE_S)
            self.socket.connect(address.path)
        else:
            self.socket = socket.create_connection((address.hostname, address.port), PATIENCE_S)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It has been refused already: the refusal can be read.

    def end(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _more(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        return bool(data)

    def answer(self, is_head=False):
        """(status, header in lower case, body) of the next answer, interim ones included; None at the end. The body is
        None where there is none."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        head = head.decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        if status < 200 or status in (204, 304) or is_head:
            return status, head, None
        if "transfer-encoding: chunked" in head:
            return status, head, self._chunks()
        size = int(re.search(r"content-length: (\d+)", head)[1])
        while len(self._buffer) < size and self._more():
            pass
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return status, head, body

    def _chunks(self):
        body = b""
        while True:
            while b"\r\n" not in self._buffer and self._more():
                pass
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            size = int(line or b"0", 16)
            while len(self._buffer) < size + 2 and self._more():
                pass
            body, self._buffer = body + self._buffer[:size], self._buffer[size + 2:]
            if size == 0:
                return body

    def final(self, is_head=False):
        while (answer := self.answer(is_head)) is not None and answer[0] < 200:
            pass
        return answer


def request(method, path, body=b"", head=""):
    text = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{head}"
    if "content-length" not in head.lower() and "chunked" not in head.lower():
        text += f"Content-Length: {len(body)}\r\n"
    return text.encode("utf-8", "surrogateescape") + b"\r\n" + body


def verdict(answer, seconds=0.0, expected=None):
    """What is wrong with an answer; nothing is where it is one, or a clear error. `expected`: statuses it may have."""
    if answer is None:
        return "no answer"
    status, _, body = answer
    if seconds > PATIENCE_S / 2:
        return f"answered after {seconds:.0f} s"
    if expected is not None and status not in expected:
        return f"answered {status}, not {sorted(expected)}"
    if status < 400:
        return ""
    if status not in ERRORS:
        return f"answered {status}: {body[:200]!r}"
    if body is None or status == 404 and body[:1] != b"\x0a":
        return ""  # Of HEAD; a Miss, or what is not in /cas.
    try:
        reply = fields_of(body)
        message = reply[2].decode()
    except (IndexError, KeyError, UnicodeDecodeError):
        return f"{status} without an error message: {body[:200]!r}"
    return "" if len(message) > 10 else f"{status} says only '{message}'"


class Tries:
    """Counts what was tried, and remembers what is wrong."""

    def __init__(self, url):
        self.url = url
        self.count = 0
        self.wrong = []

    def note(self, name, wrong):
        self.count += 1
        if wrong:
            self.wrong.append(f"{name}: {wrong}")

    def send(self, name, data, expected=None, is_head=False):
        """Everything over one connection, which is ended then; the last answer counts. Gives it."""
        started = time.monotonic()
        answer = None
        try:
            with Peer(self.url) as peer:
                peer.send(data)
                peer.end()
                while (each := peer.answer(is_head)) is not None:
                    answer = each if each[0] >= 200 else answer
        except TimeoutError:
            self.note(name, f"nothing for {PATIENCE_S} s")
            return None
        self.note(name, verdict(answer, time.monotonic() - started, expected))
        return answer


def malformed(body, seed):
    """(what it is, bytes): a message that was spoiled, in every way that there is a name for."""
    rng = random.Random(seed)
    yield "nothing", b""
    yield "a zero", b"\0"
    yield "zeros", bytes(1000)
    yield "an endless number", b"\xff" * 11
    yield "text", b'{"namespace": "default"}'
    for size in (3, 40, 5000):
        yield f"{size} random bytes", rng.randbytes(size)
    for part in (1, len(body) // 3, len(body) // 2, len(body) - 1):
        yield f"its first {part} bytes", body[:max(0, part)]
    for _ in range(12):
        if body:
            place = rng.randrange(len(body))
            yield f"byte {place} changed", body[:place] + bytes([body[place] ^ rng.randrange(1, 256)]) + body[place + 1:]
    yield "twice", body + body
    yield "groups without an end", body + b"\x0b" * 5000
    yield "nested groups", body + b"\x0b" * 200 + b"\x0c" * 200
    yield "a reserved wire type", body + b"\x0e"
    yield "field 0", body + b"\x02\x01a"
    yield "a length beyond its end", body + b"\x0a" + varint(1 << 62) + b"a"
    yield "a length of 2 GiB", body + b"\x0a" + varint((1 << 31) + 5) + b"a"
    for number in range(1, 13):
        yield f"field {number} empty", body + field(number, b"")
        yield f"field {number} no text", body + field(number, b"\xff\xfe\x00\x1b[2J")
        yield f"field {number} long", body + field(number, b"a" * 70000)
        yield f"field {number} a number", body + varint(number << 3) + varint(2**64 - 1)
        yield f"field {number} of four bytes", body + varint(number << 3 | 5) + b"\xff" * 4


PATHS = [
    "/", "//", "/x", "/v1", "/v1/", "/v1/hello/", "/V1/hello", "/v1/hello?x", "/v1/hello#x", "/v1/%68ello", "/cas/", "/cas/x",
    "/cas/" + "0" * 63, "/cas/" + "0" * 65, "/cas/" + "g" * 64, "/cas/" + "0" * 64 + "/x", "/cas/../status", "/cas/%2e%2e/status",
    "/cas/" + "0" * 64 + "?x=1", "/ac/" + "0" * 64, "/ac/..", "/ac/", "/uploads/", "/uploads/" + "0" * 32, "/uploads/../status",
    "/status?since=", "/status?since=-1", "/status?since=1e9", "/status?since=99999999999999999999", "/status?since=1&since=2",
    "/status?x=1", "/status?%", "/status?since=%31", "/v1/misses", "/v1/misses?key=", "/v1/misses?key=x", "/v1/misses?job=",
    "/v1/misses?job=%ff", "/v1/misses?key=" + "a" * 5000, "/v1/misses?job=a&key=" + "0" * 64, "/v1/traces/", "/v1/traces/x",
    "/v1/traces/latest", "/v1/traces/latest?anew=2", "/v1/traces/" + "0" * 64, "/v1/traces/../../status", "/v1/captures/",
    "/v1/captures/x", "/v1/captures/notes", "/v1/captures/notes?limit=-1", "/v1/entries/x", "/v1/cache/x", "/v1/cache/",
    "/dashboard/", "/dashboard/..", "/dashboard/../../etc/passwd", "/dashboard/%2e%2e/%2e%2e/etc/passwd", "/dashboard/history?x",
    "/dashboard/entries?limit=x", "/dashboard/inspect?key=x", "/dashboard/x.js", "/-/", "/-/x", "/-/healthy?x", "/metrics/",
    "/metrics?x", "*", "/" + "a" * 8000, "/\udcff\udcfe", "/a%00b", "/cas/" + "0" * 62 + "%41", "http://localhost/status",
    "http://other/status"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get", "M" * 40]


def try_paths(tries):
    for path in PATHS:
        for method in METHODS:
            tries.send(f"{method} {path[:80]!r}", request(method, path), is_head=method == "HEAD")


HEAD = "GET /v1/hello HTTP/1.1\r\nHost: localhost\r\n"
FRAMINGS = {
    "two lengths": HEAD + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
    "a list of lengths": HEAD + "Content-Length: 1, 1\r\n\r\na",
    "a length with a sign": HEAD + "Content-Length: +1\r\n\r\na",
    "a negative length": HEAD + "Content-Length: -1\r\n\r\n",
    "a length in hexadecimal": HEAD + "Content-Length: 0x1\r\n\r\na",
    "a length beyond 64 bits": HEAD + "Content-Length: 18446744073709551616\r\n\r\n",
    "length and chunks": HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": HEAD + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": HEAD + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked before another": HEAD + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a chunk of no size": HEAD + "Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
    "a chunk of a negative size": HEAD + "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n",
    "a chunk beyond 64 bits": HEAD + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\na\r\n0\r\n\r\n",
    "a chunk that ends elsewhere": HEAD + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "a chunk of long extensions": HEAD + "Transfer-Encoding: chunked\r\n\r\n1;" + "x" * 70000 + "\r\na\r\n0\r\n\r\n",
    "a blank before the colon": HEAD + "X : y\r\n\r\n",
    "a folded line": HEAD + "X: y\r\n z\r\n\r\n",
    "no colon": HEAD + "X\r\n\r\n",
    "no name": HEAD + ": y\r\n\r\n",
    "a name with a zero": HEAD + "X\0: y\r\n\r\n",
    "a value with a zero": HEAD + "X: \0\r\n\r\n",
    "line feeds alone": HEAD.replace("\r\n", "\n") + "\n",
    "carriage returns alone": HEAD.replace("\r\n", "\r") + "\r",
    "no host": "GET /v1/hello HTTP/1.1\r\n\r\n",
    "two hosts": HEAD + "Host: other\r\n\r\n",
    "a foreign host": HEAD.replace("localhost", "evil.example") + "\r\n",
    "a foreign origin": HEAD + "Origin: https://evil.example\r\n\r\n",
    "HTTP/0.9": "GET /v1/hello\r\n\r\n",
    "HTTP/1.0": "GET /v1/hello HTTP/1.0\r\n\r\n",
    "HTTP/2.0": "GET /v1/hello HTTP/2.0\r\n\r\n",
    "HTTP/2's preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": "GET /v1/hello HTTP/\r\n\r\n",
    "many fields": HEAD + "".join(f"X-{i}: {'y' * 50}\r\n" for i in range(2000)) + "\r\n",
    "a long field": HEAD + "X: " + "y" * 70000 + "\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + "a" * 600,
    "a request of another protocol": "EHLO localhost\r\n\r\n",
    "Redis": "*1\r\n$4\r\nPING\r\n\r\n",
    "nothing but line ends": "\r\n" * 50 + "\0\r\n\r\n",
    "ranges without end": HEAD + "Range: bytes=" + ",".join(["0-0"] * 3000) + "\r\n\r\n",
    "a range of no unit": HEAD + "Range: x=0-1\r\n\r\n",
    "an upgrade": HEAD + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "expectations": HEAD + "Expect: 200-ok\r\n\r\n",
    "an id that is none": HEAD + "X-Request-Id: a b\x1b[2J\r\n\r\n",
    "a job that is none": HEAD + "X-Stoker-Job: \x1b[2J\r\n\r\n",
}
CREDENTIALS = ["", "Bearer", "Bearer ", "Bearer x", "bearer  " + "x" * 30, "Basic YTpi", "Bearer " + "x" * 60000, "Bearer a b",
               "Bearer \xff\xfe", "\tBearer x", "Bearer x, Bearer y", "Digest username=x"]


def try_framings(tries):
    for name, text in FRAMINGS.items():
        tries.send(name, text.encode("latin-1"))
        for body_path in ("/v1/lookup", "/cas/" + "0" * 64):  # What has a body.
            changed = text.replace("GET /v1/hello", f"{'PUT' if 'cas' in body_path else 'POST'} {body_path}")
            tries.send(f"{name}, {body_path[:8]}", changed.encode("latin-1"))
    for credential in CREDENTIALS:
        data = request("GET", "/v1/hello", head="Authorization: ").replace(
            b"Authorization: ", b"Authorization: " + credential.encode("latin-1") + b"\r\n")
        tries.send(f"credential {credential[:20]!r}", data, expected={400, 401, 431})


def broken_upload(url, part, size, path="/v1/lookup", method="POST"):
    """Where the rest may be sent of an upload whose connection broke; b"" at the head: it was not offered."""
    with Peer(url) as peer:
        peer.send(request(method, path, head=f"{UPLOAD}Content-Length: {size}\r\n"))
        status, head, _ = peer.answer()
        assert status == 104, head
        peer.send(part)
        peer.end()
        while peer.answer() is not None:
            pass
    return re.search(r"location: (\S+)", head)[1]


def patch(location, offset, body, head=""):
    return request("PATCH", location, body, f"{PARTIAL}Upload-Offset: {offset}\r\n{head}")


def try_uploads(tries):
    """Each on an upload of its own of 10 bytes, of which 4 have come; afterwards it is as it was, or gone."""
    url = tries.url
    for offset in ("0", "3", "5", "10", "11", "-1", "+4", "4.0", "04", "0x4", "", "4, 4", "18446744073709551615", "18446744073709551616",
                   "9" * 30, "4;x=1", "?1", '"4"'):
        location = broken_upload(url, b"abcd", 10)
        tries.send(f"rest at offset {offset!r}", patch(location, offset, b"efghij"), expected={400, 404, 409})
    for length in (0, 1, 5, 7, 1000):
        location = broken_upload(url, b"abcd", 10)
        tries.send(f"a rest of {length} bytes", patch(location, 4, b"e" * length), expected={400})
    for announced in ("9", "11", "-1", "x", "", "10, 10", "18446744073709551616"):
        location = broken_upload(url, b"abcd", 10)
        # One that says nothing that is understood says nothing.
        tries.send(f"a rest of a whole of {announced!r}", patch(location, 4, b"efghij", f"Upload-Length: {announced}\r\n"))
    for complete in ("?0", "1", "true", "?2", ""):
        location = broken_upload(url, b"abcd", 10)
        tries.send(f"a rest that is complete: {complete!r}",
                   patch(location, 4, b"efghij").replace(b"Upload-Complete: ?1", b"Upload-Complete: " + complete.encode()),
                   expected={400})
    location = broken_upload(url, b"abcd", 10)
    tries.send("a rest of another type", patch(location, 4, b"efghij").replace(b"partial-upload", b"json"), expected={415})
    tries.send("a rest in chunks", request(
        "PATCH", location, b"6\r\nefghij\r\n0\r\n\r\n", f"{PARTIAL}Upload-Offset: 4\r\nTransfer-Encoding: chunked\r\n"), expected={411})
    for method in ("GET", "POST", "PUT", "OPTIONS"):
        tries.send(f"{method} of an upload", request(method, location), expected={405})
    tries.send("a stranger's rest", patch(location, 4, b"efghij", "Authorization: Bearer " + "x" * 30 + "\r\n"), expected={404})
    tries.send("a stranger's look", request("HEAD", location, head="Authorization: Bearer x\r\n"), expected={404}, is_head=True)
    tries.send("a stranger's end", request("DELETE", location, head="Authorization: Bearer x\r\n"), expected={404})
    found = tries.send("where it is", request("HEAD", location), expected={204}, is_head=True)
    tries.note("it is where it was", "" if found and "upload-offset: 4\r\n" in found[1] + "\r\n" else str(found))
    tries.send("its end", request("DELETE", location), expected={204})
    for again in (request("DELETE", location), patch(location, 4, b"efghij")):
        tries.send("after its end", again, expected={404})
    for head in ("Upload-Length: 9\r\n", "Upload-Length: -1\r\n", "Upload-Offset: 3\r\n", "Upload-Draft-Interop-Version: 7\r\n"):
        tries.send(f"an upload with {head[:-2]!r}", request("POST", "/v1/lookup", b"abcdefghij", UPLOAD + head))
    try_races(tries)


def try_races(tries):
    """Many rests of one upload at once: one of them is it, the others learn that they are not."""
    for _ in range(20):
        location = broken_upload(tries.url, b"abcd", 10)
        peers = [Peer(tries.url) for _ in range(6)]
        for peer in peers:
            peer.send(patch(location, 4, b"efghij"))
        answers = [peer.final() for peer in peers]
        for peer in peers:
            peer.socket.close()
        is_answer = [answer is not None and "upload-complete: ?1" in answer[1] for answer in answers]
        tries.note("rests at once", "" if sum(is_answer) == 1 else f"{sum(is_answer)} were taken")
        for answer in answers:
            tries.note("a rest of several", verdict(answer))
    location = broken_upload(tries.url, b"abcd", 10)
    with Peer(tries.url) as slow:  # Brings the rest, and stops.
        slow.send(patch(location, 4, b"", "Content-Length: 6\r\n") + b"e")
        found = tries.send("where it is meanwhile", request("HEAD", location), is_head=True)
        tries.note("who asks takes it over", "" if found and found[0] in (204, 503) else str(found))
