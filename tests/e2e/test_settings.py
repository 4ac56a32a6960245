"""What settings and arguments name that is none: said at once, with its name, and never waited for."""

import hashlib
import os
import re
import resource
import subprocess

import pytest
from e2e import forked
from e2e.processes import BUILD, ROOT, WAIT_S, start, wait_for

SOON_S = 60  # For what takes less than a second on a machine that does nothing else.
WIDTHS = (8, 4)


def ran(program, *arguments, env=None, **options):
    return subprocess.run(
        [str(BUILD / "bin" / program), *map(str, arguments)], env=env, capture_output=True, text=True,
        timeout=SOON_S, **options)


@pytest.fixture(params=["pipe", "device", "folder"])
def no_file(request, tmp_path):
    if request.param == "pipe":
        os.mkfifo(tmp_path / "pipe")
        return str(tmp_path / "pipe")
    return "/dev/zero" if request.param == "device" else str(tmp_path)


@pytest.mark.parametrize("variable", [
    "STOKER_TOKEN_FILE", "STOKER_SIGNERS", "STOKER_TRUSTED_WRITERS", "STOKER_TLS_CA", "STOKER_RECORD"])
def test_a_job_does_not_wait_for_what_is_no_regular_file(daemon, site, no_file, variable):
    url = daemon().url.replace("http:", "https:" if variable == "STOKER_TLS_CA" else "http:")
    job = start(site, WIDTHS, STOKER_URL=url, **{variable: no_file})
    err = job.communicate(timeout=SOON_S)[1]
    if variable == "STOKER_RECORD":
        assert "no regular file" in err or "Is a directory" in err, err
        return
    assert f"'{no_file}' is no regular file." in err, err
    assert variable in err, err


def test_a_daemon_does_not_wait_for_what_is_no_regular_file(tmp_path, no_file):
    for arguments in (["--config", no_file], ["--trusted-signer", no_file], ["--signing-key", no_file],
                      ["--tokens", no_file]):
        done = ran("stokerd", *arguments, "--cache-dir", tmp_path / "cache")
        assert done.returncode == (2 if arguments[0] in ("--config", "--trusted-signer") else 1)
        assert f"'{no_file}' is no regular file." in done.stderr
        assert done.stderr.splitlines()[-1].startswith("stokerd: "), done.stderr


@pytest.mark.parametrize("command", [("trace", "--graph"), ("warm",), ("warm", "--check"), ("import",)])
def test_the_command_line_does_not_wait_for_what_is_no_regular_file(site, no_file, command):
    done = ran("stoker", *command, no_file, env=site.env)
    assert done.returncode == 1 and f"'{no_file}' is no regular file." in done.stderr, done.stderr


def test_a_file_beyond_its_limit_is_named_with_the_limit(tmp_path):
    large = tmp_path / "large.toml"
    os.truncate(os.open(large, os.O_CREAT | os.O_WRONLY), 1 << 40)
    done = ran("stokerd", "--config", large, "--check-config")
    assert done.returncode == 2
    assert f"'{large}' has {1 << 40} bytes; the limit is {1 << 20}." in done.stderr


@pytest.mark.parametrize("arguments, expected", [
    (("gc", "--to", "-1"), "'-1' is not a number of bytes"),
    (("gc", "--unnamed-older-than", "-5m"), "'-5m' is not an age"),
    (("purge", "--older-than", "30"), "'30' is not an age with its unit"),
    (("top", "--interval", "nan"), "'nan' is not a number from 0.1 to 3600"),
    (("top", "--interval", "0"), "'0' is not a number from 0.1 to 3600"),
    (("explain", "--limit", "-1"), "'-1' is not a whole number from 1 to"),
    (("explain", "--limit", "0"), "'0' is not a whole number from 1 to"),
    (("ls", "--limit", "4294967296"), "'4294967296' is not a whole number from 0 to 4294967295"),
    (("ls", "--kind", "x"), "x not in {artifact,capture}"),
    (("stats", "--since", "-1h"), "'-1h' is not a duration"),
    (("stats", "--watch", "0"), "'0' is not a duration"),
    (("inspect", "12345678", "--section", "x"), "x not in {graph,"),
    (("warm", "m", "--jobs", "0x2"), "'0x2' is not a whole number from 1 to 256"),
    (("warm", "--hot", "1e3"), "'1e3' is not a whole number from 1 to"),
    (("warm", "m", "--numerics", "x"), "x not in {"),
    (("warm", "m", "--mode", "x"), "x not in {"),
    (("warm", "m", "--check=0"), "--check: it takes no value, such as '0'"),
    (("purge", "--namespace", "n", "--yes=1PiB"), "--yes: it takes no value, such as '1PiB'"),
    (("stats", "--json=-1"), "--json: it takes no value, such as '-1'"),
])
def test_an_option_that_is_out_of_its_range_is_a_usage_error(site, arguments, expected):
    done = ran("stoker", *arguments, env=site.env)
    assert done.returncode == 2 and expected in done.stderr, done.stderr


def test_every_command_is_documented():
    commands = re.findall(r"^  ([a-z]+) {2,}", ran("stoker", "--help").stdout.partition("\nSubcommands:\n")[2], re.MULTILINE)
    lines = (ROOT / "client" / "cli" / "README.md").read_text().splitlines()
    table = lines.index("| command | what |")
    rows = lines[table:lines.index("", table)]  # What stands behind a blank line is no row of it.
    documented = {command for row in rows for command in re.findall("`([a-z]+)", row.split(" | ")[0])}
    assert len(commands) > 15 and set(commands) == documented - {"command"}


HOSTILE_WORD = "a\nb\x1b[2J\u202ec\u2028\udc9b\udcff"  # Of bytes, as the system hands them on.


@pytest.mark.parametrize("arguments", [
    (), (HOSTILE_WORD,), ("stats", HOSTILE_WORD), ("stats", "--" + HOSTILE_WORD), ("stats", "--since"),
    ("stats", "--since", HOSTILE_WORD), ("ls", "--limit", HOSTILE_WORD), ("ls", "--kind", HOSTILE_WORD),
    ("purge", "--namespace", HOSTILE_WORD), ("gc", "--to=" + HOSTILE_WORD), ("inspect",), ("record",), ("stats", "--json=x"),
    ("warm", "m", "--numerics", HOSTILE_WORD), ("pin", "a" * 8, HOSTILE_WORD), ("--url",), ("--url", "", "stats"),
    ("explain", ""), ("inspect", ""), ("export", ""), ("warm", "", "--check"), ("trace", "", "--last")])
def test_a_usage_error_is_one_line_that_steers_no_terminal(site, arguments):
    done = subprocess.run([BUILD / "bin" / "stoker", *arguments], env=site.env, capture_output=True, timeout=SOON_S)
    said = done.stderr.decode()
    assert done.returncode == 2 and not done.stdout, said
    assert said.startswith("stoker: ") and said.endswith(" --help'.\n"), said
    assert said[:-1].isprintable(), said


@pytest.mark.parametrize("arguments", [
    (HOSTILE_WORD,), ("--" + HOSTILE_WORD,), ("--workers", HOSTILE_WORD), ("--listen", HOSTILE_WORD),
    ("--config", HOSTILE_WORD), ("--log-level", HOSTILE_WORD), ("--namespace-quota-bytes", HOSTILE_WORD),
    ("--other-users", HOSTILE_WORD), ("--socket-mode", HOSTILE_WORD), ("--workers",), ("--trusted-signer", HOSTILE_WORD)])
def test_what_the_daemon_does_not_start_with_is_one_line_that_steers_no_terminal(tmp_path, arguments):
    done = subprocess.run(
        [BUILD / "bin" / "stokerd", "--cache-dir", tmp_path / "cache", *arguments], capture_output=True, timeout=SOON_S)
    said = done.stderr.decode()
    assert done.returncode == 2 and not done.stdout, said
    assert said.startswith("stokerd: ") and said[:-1].isprintable() and said.endswith("\n"), said


@pytest.mark.parametrize("command", [("stats",), ("ls", "--captures"), ("--help",), ("stats", "--watch", "1s")])
def test_an_answer_that_cannot_be_written_is_a_failure(daemon, command):
    env = {**os.environ, "STOKER_URL": daemon().url}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BUILD / "bin" / "stoker", *command], env=env, stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=SOON_S)
    assert done.returncode == 1 and done.stderr.startswith("stoker: "), done.stderr
    assert "No space left on device" in done.stderr
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" >&-', BUILD / "bin" / "stoker", *command], env=env, capture_output=True, text=True,
        timeout=SOON_S)
    assert closed.returncode == 1 and "Bad file descriptor" in closed.stderr, closed.stderr


JOB = """
import torch
torch.compile(torch.sin, backend="stoker")(torch.ones(8))
"""


def errors_of_job(site, **env):
    done = subprocess.run(
        [forked.python(), "-c", JOB], env={**site.env, **env}, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("variable, choices", [
    ("STOKER_LOG", "debug, info, warning, error, captures"), ("STOKER_CAPTURES", "on, off, 0, audit, trial")])
def test_a_word_that_a_setting_does_not_know_is_named_once(site, variable, choices):
    err = errors_of_job(site, **{variable: "ofF "})
    assert err.count(f"{variable} is 'ofF ' and counts for nothing; expected is one of {choices}.") == 1, err


def test_a_private_daemon_that_does_not_start_is_quoted_by_the_one_warning(site):
    err = errors_of_job(site, STOKER_WORKERS="abc")
    lines = [line for line in err.splitlines() if "stokerd" in line]
    assert len(lines) == 1, err
    assert "stopped at once (status 2), saying \"Variable 'STOKER_WORKERS': 'abc' is not a whole number" in lines[0]


@pytest.mark.parametrize("mebibytes, threads, expected", [
    (100, 1, "The limit of virtual memory (ulimit -v) is 102400 KiB; at least 1048576 KiB are needed."),
    (1024, 256, "threads or memory ran out (ulimit -u, ulimit -v, the limits of its group)")])
def test_a_daemon_without_room_says_so(tmp_path, mebibytes, threads, expected):
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    done = ran("stokerd", "--cache-dir", tmp_path / "cache", "--network-threads", threads, preexec_fn=limit)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith("stokerd: ") and expected in done.stderr.splitlines()[-1]


def test_tls_options_without_an_https_address_are_named(daemon):
    log = daemon("--tls-client-ca", "/nowhere.pem").log
    wait_for(lambda: "no address is https://, and nothing uses --tls-client-ca" in log.read_text())


def test_no_file_takes_the_number_of_a_closed_standard_stream(tmp_path):
    daemon = subprocess.Popen(
        ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', BUILD / "bin" / "stokerd", "--cache-dir", tmp_path / "cache"])
    try:
        wait_for((tmp_path / "cache" / "stokerd.sock").exists)
        for number in range(3):
            assert os.readlink(f"/proc/{daemon.pid}/fd/{number}") == "/dev/null"
    finally:
        daemon.terminate()
        assert daemon.wait(SOON_S) == 0
    assert ran("stokerd", "--check-config").returncode == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BUILD / "bin" / "stokerd", "--check-config"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=SOON_S)
    assert done.returncode == 1 and done.stderr == "stokerd: Standard output cannot be written.\n"


def test_a_log_that_nobody_reads_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log")
    done = ran("stokerd", "--log-file", tmp_path / "log", "--cache-dir", tmp_path / "cache")
    assert done.returncode == 1 and f"Log file '{tmp_path}/log' is a pipe that nobody reads." in done.stderr


@pytest.mark.parametrize("command", [("gc",), ("verify",), ("purge", "--namespace", "none", "--yes"), ("export",)])
def test_the_command_line_works_where_nobody_reads_how_it_goes(site, tmp_path, command):
    start(site, WIDTHS).wait(SOON_S)
    arguments = [*command, str(tmp_path / "bundle")] if command == ("export",) else command
    for redirection in ("2>&-", "2>/dev/full"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", str(BUILD / "bin" / "stoker"), *arguments], env=site.env,
            capture_output=True, text=True, timeout=SOON_S)
        assert done.returncode == 0 and done.stdout, (redirection, done)


def test_a_limit_on_the_size_of_files_is_a_full_disk(daemon):
    limited = daemon()
    resource.prlimit(limited.process.pid, resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
    statuses = set()
    for number in range(12):
        body = os.urandom(1 << 20)
        statuses.add(limited.call("PUT", f"/cas/{hashlib.sha256(body).hexdigest()}", body)[0])
    assert statuses <= {200, 503, 507} and statuses != {200}, statuses
    assert limited.process.poll() is None and limited.call("GET", "/-/healthy")[0] == 200
