"""A daemon that other hosts reach: TLS, tokens, certificates of both sides, pins, and what goes wrong with them."""

import hashlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess

import pytest
from e2e.certificates import Authority
from e2e.processes import BUILD, WAIT_S, Daemon, run, wait_for

WIDTHS = (32, 48, 8, 4)
TOKEN = "a-token-for-the-end-to-end-tests"


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def daemon(tmp_path):
    """Makes a Daemon that also listens where other hosts reach it: `port` there."""
    made = []

    def make(*arguments, scheme="https"):
        made.append(Daemon(tmp_path, "--listen", f"{scheme}://0.0.0.0:0", *map(str, arguments)))
        made[-1].port = int(wait_for(lambda: re.search(
            rf"listens on {scheme}://0.0.0.0:(\d+)", made[-1].log.read_text()))[1])
        return made[-1]

    yield make
    for each in made:
        each.process.kill()
        each.process.wait()


def shown(issued):
    return ("--tls-certificate", issued.certificate, "--tls-key", issued.key)


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    path.write_text(
        f'[[token]]\nname = "jobs"\nsha256 = "{digest}"\nscopes = ["read", "write"]\n'
        '[[certificate]]\nsubject = "reader"\nscopes = ["read"]\n')
    path.chmod(0o600)
    return path


def url_of(daemon, host="127.0.0.1", scheme="https"):
    return f"{scheme}://{host}:{daemon.port}"


def complaint(site, *arguments):
    """What the command line says that fails."""
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), *arguments], env=site.env, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 1, done.stdout
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_jobs_compile_and_start_warm_over_tls_with_a_token(daemon, authority, site, tokens):
    target = daemon(*shown(authority.issue("daemon")), "--tokens", tokens)
    site.env.update(
        STOKER_URL=url_of(target), STOKER_TLS_CA=str(authority.own.certificate), STOKER_TOKEN=TOKEN)
    assert run(site, WIDTHS)["source"] == "compiled"
    site.env["STOKER_URL"] = url_of(target, "localhost")
    assert run(site, WIDTHS)["source"] in ("memory", "disk")
    cold, warm = site.run("mlp"), site.run("mlp")
    assert cold["warnings"] == warm["warnings"] == []
    assert cold["error"] <= 1e-5 and warm["error"] <= 1e-5
    assert target.status()["stats"]["hits"]["total"] >= 2
    doctor = site.tool("doctor")
    assert re.search(r"^ok    encryption +TLS 1.3; the daemon is known by the CAs in ", doctor, re.MULTILINE)
    assert not (site.cache / "stokerd.sock").exists()


def test_a_pinned_key_stands_for_a_certificate(daemon, authority, site, tokens):
    issued = authority.issue("daemon", "DNS:another.example")
    target = daemon(*shown(issued), "--tokens", tokens)
    site.env.update(STOKER_URL=url_of(target), STOKER_TLS_PIN=issued.pin(), STOKER_TOKEN=TOKEN)
    assert run(site, WIDTHS)["source"] == "compiled"
    site.env["STOKER_TLS_PIN"] = authority.own.pin()
    assert "which STOKER_TLS_PIN does not name" in complaint(site, "stats")


def test_certificates_of_clients_say_who_asks(daemon, authority, site, tokens, tmp_path):
    clients = Authority(tmp_path, "clients")
    target = daemon(
        *shown(authority.issue("daemon")), "--tls-client-ca", clients.own.certificate, "--tokens", tokens)
    site.env.update(STOKER_URL=url_of(target), STOKER_TLS_CA=str(authority.own.certificate))
    assert "asks for a client's certificate: STOKER_TLS_CERTIFICATE" in complaint(site, "stats")

    def show(issued):
        site.env.update(
            STOKER_TLS_CERTIFICATE=str(issued.certificate), STOKER_TLS_KEY=str(issued.key))

    show(clients.issue("trainer"))
    assert run(site, WIDTHS)["source"] == "compiled"
    show(clients.issue("reader"))
    assert run(site, WIDTHS)["source"] in ("memory", "disk")
    assert "Certificate 'trainer' has no scope 'admin'" in complaint_as(site, show, clients.issue("trainer"), "stop")
    assert "Certificate 'reader' has no scope 'admin'; the scopes are: read." in complaint_as(
        site, show, clients.issue("reader"), "stop")
    assert "refuses the certificate in STOKER_TLS_CERTIFICATE: " in complaint_as(
        site, show, authority.issue("stranger"), "stats")


def complaint_as(site, show, issued, *arguments):
    show(issued)
    return complaint(site, *arguments)


@pytest.mark.parametrize("wrong, said", [
    ("ca", "is signed by none of the CAs in"), ("host", "is for another.example, not for 127.0.0.1."),
    ("scheme", "its URL begins with https://"), ("tls", "does not speak TLS; is it http:// there?"),
    ("token", "The token is none of this daemon's."), ("no token", "without a token, has no scope 'read'"),
    ("token in clear", "would carry it in clear")])
def test_what_is_wrong_is_said_in_one_line(daemon, authority, site, tokens, tmp_path, wrong, said):
    names = "DNS:another.example" if wrong == "host" else "IP:127.0.0.1"
    target = daemon(*shown(authority.issue("daemon", names)), "--tokens", tokens)
    ca = Authority(tmp_path, "others") if wrong == "ca" else authority
    site.env.update(
        STOKER_URL=url_of(target), STOKER_TLS_CA=str(ca.own.certificate), STOKER_TOKEN=TOKEN)
    if wrong == "scheme":
        site.env["STOKER_URL"] = url_of(target, scheme="http")
    if wrong == "tls":
        site.env["STOKER_URL"] = target.url.replace("http:", "https:")
    if wrong == "token":
        site.env["STOKER_TOKEN"] = TOKEN + "?"
    if wrong == "no token":
        del site.env["STOKER_TOKEN"]
    if wrong == "token in clear":
        address = own_address()
        if address is None:
            pytest.skip("this host has no address but loopback")
        site.env["STOKER_URL"] = f"http://{address}:{target.port}"
    assert said in complaint(site, "stats")


def own_address():
    """One that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing.
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def test_a_job_whose_daemon_is_not_to_be_believed_runs_in_eager(daemon, authority, site, tokens):
    target = daemon(*shown(authority.issue("daemon")), "--tokens", tokens)
    site.env.update(STOKER_URL=url_of(target), STOKER_TLS_PIN=authority.own.pin(), STOKER_TOKEN=TOKEN)
    results = site.run("mlp,resnet")
    warnings = [warning for result in results.values() for warning in result["warnings"]]
    assert len(warnings) == 1, warnings
    assert re.fullmatch(
        r"a graph runs in eager: failed precondition: The key of https://\S+ is sha256//\S+, which STOKER_TLS_PIN "
        r"does not name\.", warnings[0])
    for result in results.values():
        assert result["error"] <= 1e-5


def over_tls(target, authority, path, token=None, host="127.0.0.1"):
    """Status and body of a GET by another client."""
    context = ssl.create_default_context(cafile=authority.own.certificate)
    connection = http.client.HTTPSConnection(host, target.port, context=context, timeout=WAIT_S)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    reply = connection.getresponse()
    assert connection.sock is None or connection.sock.version() == "TLSv1.3"
    return reply.status, reply.read()


def test_other_clients_and_health(daemon, authority, tokens):
    target = daemon(*shown(authority.issue("daemon")), "--tokens", tokens)
    assert over_tls(target, authority, "/-/healthy") == (200, b"healthy\n")
    assert over_tls(target, authority, "/status")[0] == 401
    status, body = over_tls(target, authority, "/status", TOKEN, "localhost")
    assert status == 200 and json.loads(body)["insecure"] == []
    older = ssl.create_default_context(cafile=authority.own.certificate)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION|protocol version"):
        with socket.create_connection(("127.0.0.1", target.port)) as plain:
            older.wrap_socket(plain, server_hostname="localhost")


def certificate_of(target):
    return ssl.get_server_certificate(("127.0.0.1", target.port)).strip()


@pytest.mark.parametrize("sign", ["the file", "a signal"])
def test_a_new_certificate_is_shown_without_a_restart(daemon, authority, tokens, sign):
    issued = authority.issue("daemon")
    target = daemon(*shown(issued), "--tokens", tokens)
    first = certificate_of(target)
    assert first == issued.certificate.read_text().strip()
    issued.certificate.write_text("no certificate\n")
    if sign == "a signal":
        target.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "the TLS certificate stays as it was: TLS certificate file" in target.log.read_text())
    assert certificate_of(target) == first
    authority.issue("daemon")
    if sign == "a signal":
        target.process.send_signal(signal.SIGHUP)
    wait_for(lambda: certificate_of(target) != first)
    assert certificate_of(target) == issued.certificate.read_text().strip()


def refusal_to_start(code, *arguments):
    done = subprocess.run(
        [str(BUILD / "bin" / "stokerd"), *map(str, arguments)], timeout=WAIT_S, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_daemon_that_is_not_fit_to_be_reached_does_not_start(authority, tokens, tmp_path):
    issued = authority.issue("daemon")
    folder = ("--cache-dir", tmp_path / "cache")
    out = (*folder, "--listen", "https://0.0.0.0:0")
    assert "needs --tls-certificate." in refusal_to_start(2, *out, "--tokens", tokens)
    assert "needs a credential (--tokens or --tls-client-ca); --insecure goes without." in refusal_to_start(
        2, *out, *shown(issued))
    assert "needs TLS (https://, --tls-certificate, --tls-key); --insecure goes without." in refusal_to_start(
        2, *folder, "--listen", "http://0.0.0.0:0", "--tokens", tokens)
    assert not (tmp_path / "cache").exists()
    issued.key.chmod(0o644)
    assert "may be read by others" in refusal_to_start(1, *out, *shown(issued), "--tokens", tokens)
    issued.key.chmod(0o600)
    other = authority.issue("other")
    error = refusal_to_start(
        1, *out, "--tls-certificate", issued.certificate, "--tls-key", other.key, "--tokens", tokens)
    assert f"The key in '{other.key}' is not that of the first certificate in '{issued.certificate}'." in error


def test_insecure_is_said_loudly(daemon, site):
    target = daemon("--insecure", "--other-users", "read,write", scheme="http")
    address = "http://0.0.0.0:0"
    assert target.status()["insecure"] == [address]
    assert re.search(rf"warning INSECURE: {address} is open to other hosts without TLS", target.log.read_text())
    assert run(site, WIDTHS, STOKER_URL=url_of(target, scheme="http"))["source"] == "compiled"
    target.stop()
    target.log.unlink()
    closed = daemon("--insecure", scheme="http")
    site.env["STOKER_URL"] = url_of(closed, scheme="http")
    assert "has no scope 'read'; the scopes are: none." in complaint(site, "stats")


def test_a_private_daemon_has_no_use_for_certificates(site):
    site.env.update(STOKER_TLS_CERTIFICATE="/nowhere", STOKER_TLS_KEY="/nowhere", STOKER_TLS_CA="/nowhere")
    assert run(site, WIDTHS)["source"] == "compiled"
