"""Hundreds of inputs that are none: each gets an answer or a clear error, and others are served meanwhile."""

import hashlib
import json
import os
import subprocess

import pytest
from e2e import hostile
from e2e.processes import BUILD, WAIT_S, Between, run, wait_for

WIDTHS = (32, 48, 8, 4)
NOBODY = 65534
# What is sent changed; the others are never answered with a 4xx, or end the daemon.
COMMANDS = [
    ("ls",), ("inspect", "KEY"), ("explain", "KEY"), ("key", "--explain", "KEY", "KEY"), ("pin", "KEY"), ("pins",), ("unpin", "KEY"),
    ("gc",), ("verify",), ("export", "BUNDLE"), ("import", "BUNDLE"), ("purge", "--namespace", "nowhere", "--yes")]

# What takes a body, and its answer may be one.
ROUTES = [f"/v1/{name}" for name in (
    "lookup", "compile", "report", "list", "inspect", "explain", "captures/find", "captures/put", "captures/drop", "captures/note",
    "entries/get", "entries/put", "cache/gc", "cache/purge", "cache/verify", "cache/pin", "cache/unpin", "cache/pins")]


def tool(url, *arguments, env):
    return subprocess.run(
        [BUILD / "bin" / "stoker", "--url", url, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=WAIT_S)


def recorded(daemon, site, tmp_path):
    """{path: a body that a client has sent there}, of every route that takes one."""
    between = Between(daemon, lambda path, status, reply: reply)
    try:
        site.env["STOKER_URL"] = between.url
        run(site, WIDTHS)
        site.run("mlp")  # Puts captures.
        site.run("mlp")
        key = json.loads(tool(daemon.url, "ls", "--json", env=site.env).stdout)[0]["key"]
        for command in COMMANDS:
            words = [{"KEY": key, "BUNDLE": tmp_path / "bundle"}.get(word, word) for word in command]
            done = tool(between.url, *words, env=site.env)
            assert done.returncode == 0, (words, done.stderr)
        return {**dict.fromkeys(ROUTES, b""), **{path: body for path, body in between.requests if path in ROUTES}}
    finally:
        between.close()


def check(tries, daemon, site):
    print(f"{tries.count} tried, {len(tries.wrong)} without a clear answer")
    assert not tries.wrong, "\n".join(tries.wrong)
    assert daemon.process.poll() is None and daemon.call("GET", "/-/ready") == (200, b"ready\n")
    assert run(site, WIDTHS, STOKER_URL=daemon.url)["error"] < 1e-5


def test_messages_that_are_none(daemon, site, tmp_path):
    target = daemon()
    bodies = recorded(target, site, tmp_path)
    (tmp_path / "other").mkdir()
    to_other = Between(daemon(folder=tmp_path / "other"), lambda path, status, reply: reply)
    tool(to_other.url, "import", tmp_path / "bundle", env=site.env)  # Which trusts no other daemon.
    to_other.close()
    bodies["/v1/entries/put"] = next(body for path, body in to_other.requests if path == "/v1/entries/put")
    assert sum(map(bool, bodies.values())) >= 15, bodies
    tries = hostile.Tries(target.url)
    for path, body in bodies.items():
        for name, changed in hostile.malformed(body, path):
            tries.send(f"{path}, {name}", hostile.request("POST", path, changed))
    for path in bodies:  # What is sent where something else is expected.
        for other, body in bodies.items():
            if other != path:
                tries.send(f"what goes to {other}, to {path}", hostile.request("POST", path, body))
    check(tries, target, site)


def test_paths_methods_framings_and_credentials_that_are_none(daemon, site):
    target = daemon()
    tries = hostile.Tries(target.url)
    hostile.try_paths(tries)
    hostile.try_framings(tries)
    check(tries, target, site)


def test_rests_of_uploads_that_are_none(daemon, site):
    target = daemon()
    tries = hostile.Tries(target.url)
    hostile.try_uploads(tries)
    wait_for(lambda: target.status()["connections"]["reading"] <= 1)
    check(tries, target, site)


TOKEN = "a-token-of-one-namespace-0123456789"
EVERYWHERE = "a-token-of-all-namespaces-0123456789"
TOKENS = "".join(
    f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
    f'scopes = ["read", "write", "admin"]\n{more}\n'
    for name, token, more in (("one", TOKEN, 'namespaces = ["mine"]'), ("all", EVERYWHERE, "")))


def bearer(token):
    return f"Authorization: Bearer {token}\r\n"


def test_an_admin_of_one_namespace_has_no_other(daemon, site, tmp_path):
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    target = daemon("--tokens", tokens)
    bodies = recorded(target, site, tmp_path)  # Of the namespace "default", or of all.
    tries = hostile.Tries(target.url)
    for path, body in {**bodies, "/-/quit": b""}.items():
        # Of nothing, some routes cannot tell what namespace it is about.
        tries.send(path, hostile.request("POST", path, body, bearer(TOKEN)), expected={403} if body else {400, 403})
    for path in ("/-/quit", "/v1/cache/gc", "/v1/cache/verify"):
        tries.send(path, hostile.request("POST", path, b"", bearer(TOKEN)), expected={403})
    for path in ("/cas/" + hashlib.sha256(b"x").hexdigest(), "/ac/" + "0" * 64):
        for method, body in (("PUT", b"x"), ("GET", b"")):
            tries.send(f"{method} {path}", hostile.request(method, path, body, bearer(TOKEN)), expected={403})
    site.env["STOKER_NAMESPACE"] = "mine"
    site.env["STOKER_TOKEN"] = TOKEN
    assert run(site, WIDTHS, STOKER_URL=target.url)["source"] == "compiled"
    tries.send("its own", hostile.request("POST", "/v1/cache/purge", hostile.field(1, b"mine"), bearer(TOKEN)), expected={200})
    check(tries, target, site)
    assert hostile.Tries(target.url).send("all", hostile.request("POST", "/-/quit", b"", bearer(EVERYWHERE)))[0] == 202
    assert target.process.wait(WAIT_S) == 0


WRONG_TOKENS = [
    "", "[[token]]", "[token]\n", "x = 1\n", TOKENS[:-40], TOKENS.replace("sha256", "sha512"), TOKENS.replace('"read"', '"root"'),
    TOKENS.replace("namespaces = [", "namespaces = [1, "), TOKENS.replace('"mine"', '"Not One"'), "\0" * 100, "[[token]]\n" * 5000,
    "a" * (2 << 20), "[[" * 3000, "\ufeff" + TOKENS, TOKENS.replace("\n", "\r"), 'token = [[[[[' + "[" * 5000]


def test_token_files_that_are_none_change_nothing(daemon, site, tmp_path):
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    target = daemon("--tokens", tokens)
    tries = hostile.Tries(target.url)
    ask = hostile.request("GET", "/v1/hello", head=bearer(EVERYWHERE))
    for place, text in enumerate(WRONG_TOKENS):
        if not text.strip("\0"):
            continue  # None at all is what revokes them.
        before = target.log.read_text().count("the tokens stay as they were")
        new = tmp_path / "new.toml"
        new.write_text(text)
        new.chmod(0o600)
        new.rename(tokens)  # One that is asked for while it is written would be read as far as it is there.
        target.process.send_signal(1)  # At once.
        if text not in (TOKENS, "\ufeff" + TOKENS):
            wait_for(lambda: target.log.read_text().count("the tokens stay as they were") > before)
        tries.send(f"tokens {place}", ask, expected={200})
    tokens.unlink()
    tokens.symlink_to("/etc/passwd")
    target.process.send_signal(1)
    wait_for(lambda: "passwd" in target.log.read_text() or "tokens stay" in target.log.read_text())
    tries.send("tokens are a link to another file", ask, expected={200})
    assert all(line.isprintable() for line in target.log.read_text().splitlines())
    check(tries, target, site)


WRONG_CONFIGS = [
    "x", "listen = ", "listen = 1", "workers = -1", "workers = 1.5", 'workers = "a"', "workers = 99999999999999999999", "[listen]",
    "unknown = 1", "workers = 1\nworkers = 2", "\0", "\xff", "a" * 100000, "listen = [" + "[" * 5000, "[[listen]]", 'log_level = "x"',
    'listen = ["unix:relative"]', 'listen = [1]', "namespace_quota_bytes = 1", "max_cache_bytes = 0",
    'cache_dir = "/tmp/\\u0000"', 'log_file = "\\u001b[2J"\nworkers = 0', 'socket_mode = "7777"', "workers = 0x", "workers = inf"]


@pytest.mark.parametrize("text", WRONG_CONFIGS)
def test_a_configuration_that_is_none_is_one_line(tmp_path, text):
    config = tmp_path / "c.toml"
    config.write_bytes(text.encode("latin-1"))
    done = subprocess.run([BUILD / "bin" / "stokerd", "--config", config, "--check-config"], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 2 and not done.stdout, done.stdout
    assert done.stderr.startswith("stokerd: ") and done.stderr[:-1].isprintable(), done.stderr


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@needs_root
def test_another_user_of_this_host_may_nothing(daemon, site, tmp_path):
    tmp_path.chmod(0o711)
    for parent in tmp_path.parents:
        if os.access(parent, os.W_OK) and str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o711)
    target = daemon("--listen", f"unix:{tmp_path}/s", "--socket-mode", "0666")
    bodies = recorded(target, site, tmp_path)
    script = (
        "import sys, json, os\n"
        "os.setgroups([]); os.setgid(%d); os.setuid(%d)\n"
        "from e2e import hostile\n"
        "bodies = json.load(sys.stdin)\n"
        "for url in sys.argv[1:]:\n"
        "    tries = hostile.Tries(url)\n"
        "    for path, body in bodies.items():\n"
        "        tries.send(path, hostile.request('POST', path, bytes.fromhex(body)), expected={403})\n"
        "    for path in ('/status', '/metrics', '/', '/v1/hello', '/v1/misses', '/v1/traces/latest', '/cas/' + '0' * 64):\n"
        "        tries.send(path, hostile.request('GET', path), expected={403})\n"
        "    tries.send('put', hostile.request('PUT', '/cas/' + '0' * 64, b'x'), expected={403})\n"
        "    tries.send('quit', hostile.request('POST', '/-/quit'), expected={403})\n"
        "    tries.send('health', hostile.request('GET', '/-/healthy'), expected={200})\n"
        "    print(tries.count, tries.wrong)\n"
        "    assert not tries.wrong, tries.wrong\n") % (NOBODY, NOBODY)
    done = subprocess.run(
        [os.path.realpath("/usr/bin/python3"), "-c", script, target.url, f"unix:{tmp_path}/s"], capture_output=True, text=True,
        input=json.dumps({path: body.hex() for path, body in bodies.items()}), timeout=WAIT_S,
        env={**os.environ, "PYTHONPATH": str(hostile.__file__).rpartition("/e2e/")[0]})
    assert done.returncode == 0, done.stdout + done.stderr
    assert target.process.poll() is None


LINKS = ["stokerd.lock", "stokerd.sock", "history", "history.new", "keys/signing.pem", "keys/signers", "keys/lock", "store", "keys"]


@pytest.mark.parametrize("name", LINKS)
def test_a_link_in_the_cache_folder_overwrites_nothing(tmp_path, name):
    cache, target = tmp_path / "cache", tmp_path / "target"
    (cache / "keys").mkdir(parents=True) if "/" in name else cache.mkdir()
    cache.chmod(0o700)
    target.write_text("somebody's")
    target.chmod(0o600)
    (cache / name).symlink_to(target)
    process = subprocess.Popen(
        [BUILD / "bin" / "stokerd", "--cache-dir", cache, "--log-file", tmp_path / "log", "--listen", "http://127.0.0.1:0"],
        stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: process.poll() is not None or (tmp_path / "log").exists() and "listens on" in (tmp_path / "log").read_text())
        process.terminate()
        err = process.communicate(timeout=WAIT_S)[1]
    finally:
        process.kill()
    assert process.returncode in (0, 1)
    if process.returncode == 1:
        assert err.startswith("stokerd: ") and str(cache) in err, err
    assert target.read_text() == "somebody's"
