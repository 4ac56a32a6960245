"""Between clients and a daemon: a TCP relay that is slow, or cuts connections in the middle, and one that understands
HTTP and answers as it likes."""

import contextlib
import http.server
import socket
import threading
import time
import urllib.parse


class Relay:
    """`plan(number)` gives, for each connection from 0 on, how many bytes of the replies pass before it is cut (None:
    all of them) and how many seconds each piece waits. It is cut as well after `most_asked` bytes of what the client
    sends."""

    PIECE = 4096

    def __init__(self, daemon_url, plan, most_asked=None):
        address = urllib.parse.urlsplit(daemon_url)
        self._daemon = (address.hostname, address.port)
        self._plan = plan
        self._most_asked = most_asked
        self.connections = 0
        self.asked = bytearray()  # What clients sent, all of it.
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._server.close()

    def _serve(self):
        with contextlib.suppress(OSError):  # Closed.
            while True:
                client, _ = self._server.accept()
                limit, pause = self._plan(self.connections)
                self.connections += 1
                daemon = socket.create_connection(self._daemon)
                threading.Thread(
                    target=self._pass_on, args=(client, daemon, self._most_asked, pause, self._remember),
                    daemon=True).start()
                threading.Thread(target=self._pass_on, args=(daemon, client, limit, pause), daemon=True).start()
                del client, daemon  # The threads' alone: closed at their end, and who still sends is told.

    def _remember(self, piece):
        self.asked += piece

    def _pass_on(self, source, target, limit, pause, see=lambda piece: None):
        with contextlib.suppress(OSError):
            while limit is None or limit > 0:
                piece = source.recv(self.PIECE if limit is None else min(self.PIECE, limit))
                if not piece:
                    break
                if limit is not None:
                    limit -= len(piece)
                see(piece)
                time.sleep(pause)
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Retold:
    """`tell(send, path, status, body)` sends the daemon's answer to each request as raw bytes, by send(bytes). A False
    ends the connection."""

    def __init__(self, daemon, tell):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, reply = daemon.call(self.command, self.path, body or None)
                try:
                    told = tell(self.wfile.write, self.path, status, reply)
                except OSError:
                    told = False  # The client has left.
                self.close_connection = told is False

            do_POST = do_GET

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def head(status, *lines):
    """The beginning of an answer."""
    return "\r\n".join([f"HTTP/1.1 {status} Said", *lines, "", ""]).encode()


def whole(status, body):
    """An answer as it should be."""
    return head(status, f"Content-Length: {len(body)}") + body
