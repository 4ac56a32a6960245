"""What ./dev bench service compares: stokerd, nginx and redis, with the same payloads, on ports of their own."""

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import time
import urllib.request

from rows import ROOT, program_named

WAIT_S = 60
PAYLOADS = {"64 KiB": 64 << 10, "1 KiB": 1 << 10}

NGINX = """
daemon off;
worker_processes auto;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
{user}
events {{ worker_connections 8192; }}
http {{
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  access_log off;
  {temporary}
  ssl_certificate {folder}/tls.crt;
  ssl_certificate_key {folder}/tls.key;
  ssl_protocols TLSv1.3;
  server {{
    listen 127.0.0.1:{http};
    listen 127.0.0.1:{https} ssl;
    root {folder}/files;
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def payload(case):
    """Bytes that do not compress: kernels hardly do."""
    return b"".join(
        hashlib.sha256(f"{case} {place}".encode()).digest() for place in range(PAYLOADS[case] // 32))


def wait_for_port(port, process, name):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}.")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.01)
    raise RuntimeError(f"{name} does not listen on port {port} within {WAIT_S} s.")


def make_certificate(folder, address="127.0.0.1"):
    """tls.crt and tls.key, of localhost and this address."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
         f"subjectAltName=DNS:localhost,IP:{address}", "-keyout", folder / "tls.key", "-out",
         folder / "tls.crt"], check=True, capture_output=True)
    (folder / "tls.key").chmod(0o600)


class Server:
    """A process that is ended with the run."""

    def __init__(self, name, command, port, **options):
        self.process = subprocess.Popen(list(map(str, command)), **options)
        wait_for_port(port, self.process, name)

    def close(self):
        self.process.terminate()
        self.process.wait(WAIT_S)


class Stoker(Server):
    """stokerd as it comes: its addresses are loopback, its payloads lie in /cas."""

    def __init__(self, folder, *arguments, tls=True):
        self.http, self.https = free_port(), free_port()
        self.log = folder / "stokerd.log"
        command = [program_named("stokerd"), "--cache-dir", folder / "stokerd", "--log-file", self.log,
                   "--listen", f"http://127.0.0.1:{self.http}", *arguments]
        if tls:
            command += ["--listen", f"https://127.0.0.1:{self.https}", "--tls-certificate",
                        folder / "tls.crt", "--tls-key", folder / "tls.key"]
        super().__init__("stokerd", command, self.http)
        self.url = f"http://127.0.0.1:{self.http}"

    def put(self, content):
        path = f"/cas/{hashlib.sha256(content).hexdigest()}"
        urllib.request.urlopen(urllib.request.Request(self.url + path, content, method="PUT")).read()
        return path

    def rss_mib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            [line] = [line for line in status if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024


class Nginx(Server):
    """As Debian configures it, without a log of accesses and with connections that stay."""

    def __init__(self, folder):
        self.http, self.https = free_port(), free_port()
        self._files = folder / "files"
        self._files.mkdir()
        temporary = " ".join(
            f"{name}_temp_path {folder}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = folder / "nginx.conf"
        configuration.write_text(NGINX.format(
            folder=folder, http=self.http, https=self.https, temporary=temporary,
            user="user root;" if os.geteuid() == 0 else ""))
        super().__init__("nginx", ["nginx", "-c", configuration], self.http)

    def put(self, content):
        name = hashlib.sha256(content).hexdigest()
        (self._files / name).write_bytes(content)
        return f"/{name}"


class Redis(Server):
    """Without persistence."""

    def __init__(self, folder):
        self.port = free_port()
        super().__init__("redis-server", [
            "redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
            "no", "--dir", folder], self.port, stdout=subprocess.DEVNULL)

    def put(self, content):
        key = hashlib.sha256(content).hexdigest()
        subprocess.run(["redis-cli", "-p", str(self.port), "-x", "set", key], input=content,
                       check=True, capture_output=True)
        return key


class Between:
    """Notes what a client asks of a daemon: a real request is what a load repeats."""

    def __init__(self, daemon):
        sys.path.insert(0, str(ROOT / "tests"))
        from e2e import processes

        class Called:
            def call(self, method, path, body=None):
                request = urllib.request.Request(daemon.url + path, body, method=method)
                try:
                    with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
                        return reply.status, reply.read()
                except urllib.error.HTTPError as error:
                    return error.code, error.read()

        self._between = processes.Between(Called(), lambda path, status, reply: reply)
        self.url = self._between.url

    def requests(self, path):
        """The bodies of the requests to `path`, in their order."""
        return [body for asked, body in self._between.requests if asked == path]

    def close(self):
        self._between.close()
