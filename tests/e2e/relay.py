"""A TCP relay between clients and a daemon that is slow, or cuts connections in the middle."""

import contextlib
import socket
import threading
import time
import urllib.parse


class Relay:
    """`plan(number)` gives, for each connection from 0 on, how many bytes of the replies pass before it is cut (None:
    all of them) and how many seconds each piece waits."""

    PIECE = 4096

    def __init__(self, daemon_url, plan):
        address = urllib.parse.urlsplit(daemon_url)
        self._daemon = (address.hostname, address.port)
        self._plan = plan
        self.connections = 0
        self.asked = b""  # What clients sent, all of it.
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
                    target=self._pass_on, args=(client, daemon, None, pause, self._remember), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(daemon, client, limit, pause), daemon=True).start()

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
