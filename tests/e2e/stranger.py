"""A client of the wire that is none of ours: encodes any graph, and computes the keys that go with it."""

import asyncio
import hashlib
import struct
import urllib.parse

F32 = 1
CONSTANT, IOTA, NEGATE = 0, 1, 3
TARGET = "cpu/x86-64-v3"


def u64(value):
    return struct.pack("<Q", value)


def text(value):
    """Bytes behind their length."""
    value = value.encode() if isinstance(value, str) else value
    return u64(len(value)) + value


def dim(size):
    """A size, or the text of an expression."""
    return b"\1" + text(size) if isinstance(size, str) else b"\0" + struct.pack("<q", size)


def tensor(*dims, dtype=F32):
    return bytes([dtype, len(dims)]) + b"".join(map(dim, dims))


def node(kind, operands, result, constant=b"", attributes=b"", attribute_count=0):
    return b"".join((
        struct.pack("<I", kind), u64(len(operands)), struct.pack(f"<{len(operands)}I", *operands),
        u64(attribute_count), attributes, u64(1), result, text(constant)))


def graph(inputs, nodes, outputs):
    """The canonical encoding, if its parts are. Values are numbered: the inputs, then the nodes' results."""
    return b"".join((
        b"STKG", struct.pack("<I", 1), u64(len(inputs)), *(b"\0" + each for each in inputs),
        u64(len(nodes)), *nodes, u64(len(outputs)), struct.pack(f"<{len(outputs)}I", *outputs)))


def varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def field(number, content):
    """A field of bytes in the protobuf format."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields_of(message):
    """Number -> the last content of its fields of bytes; others are skipped."""
    found, place = {}, 0

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            value |= (byte & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if byte < 0x80:
                return value

    while place < len(message):
        key = number()
        if key & 7 == 2:
            size = number()
            found[key >> 3] = message[place:place + size]
            place += size
        elif key & 7 == 1:
            place += 8
        else:
            number()
    return found


def request_key(graph_digest, epoch):
    kind, arch = TARGET.split("/")
    assert kind == "cpu"
    fields = [
        ("compiler_epoch", epoch), ("target.kind", b"\0"), ("target.arch", arch.encode()),
        ("target.features", u64(0)), ("options.numerics", b"\0"), ("graph", graph_digest)]
    return hashlib.sha256(text("stoker.request-key.3") + b"".join(
        text(tag) + text(value) for tag, value in fields)).digest()


class Request:
    """The messages of one compile."""

    def __init__(self, encoded, epoch):
        digest = hashlib.sha256(encoded).digest()
        self.key = request_key(digest, epoch)
        self.lookup = field(2, self.key) + field(3, digest)
        self.by_key = b"".join((
            field(2, self.key), field(4, digest), field(5, b"stranger"), field(6, b""), field(7, TARGET.encode()),
            field(8, b""), field(9, epoch)))
        self.whole = self.by_key + field(3, encoded)


class Connection:
    """HTTP/1.1 to a daemon, in asyncio."""

    def __init__(self, url):
        self._address = urllib.parse.urlparse(url)
        self._reader = self._writer = None

    async def open(self):
        self._reader, self._writer = await asyncio.open_connection(
            self._address.hostname, self._address.port, limit=1 << 26)
        return self

    def close(self):
        self._writer.close()

    async def call(self, method, path, body=b"", request_id="stranger"):
        """Status and body, without chunks."""
        self._writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {request_id}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = int(head.split(" ", 2)[1])
        if "transfer-encoding: chunked" not in head:
            size = head.partition("content-length:")[2].split("\r\n")[0]
            return status, await self._reader.readexactly(int(size or 0))
        pieces = []
        while size := int(await self._reader.readline(), 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return status, b"".join(pieces)

    async def epoch(self):
        return fields_of((await self.call("GET", "/v1/hello"))[1])[3]

    async def compile(self, body, request_id="stranger"):
        """("bundle", its bytes), or (an error's code, its message)."""
        status, reply = await self.call("POST", "/v1/compile", body, request_id)
        if status != 200:
            error = fields_of(reply)
            return error[1].decode(), error[2].decode()
        place = 0
        while place < len(reply):
            size, = struct.unpack_from("<I", reply, place)
            event, place = fields_of(reply[place + 4:place + 4 + size]), place + 4 + size
        if 2 in event:
            return "bundle", event[2]
        error = fields_of(event[3])
        return error[1].decode(), error[2].decode()
