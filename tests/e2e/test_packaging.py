"""What docker/ gives to run the daemon with: health, the service manager, packages, dashboards, images."""

import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest
import yaml
from bench import images
from e2e.processes import BUILD, POINTWISE, ROOT, WAIT_S, Daemon, record, start, wait_for

DOCKER = ROOT / "docker"
STOKERD = str(BUILD / "bin" / "stokerd")
STOKER = str(BUILD / "bin" / "stoker")


def run_tool(*arguments, **options):
    return subprocess.run(
        list(map(str, arguments)), capture_output=True, text=True, timeout=WAIT_S, **options)


# ---- stoker healthcheck ------------------------------------------------------------------------


def healthcheck(site, *arguments, **env):
    return run_tool(STOKER, "healthcheck", *arguments, env={**site.env, **env})


def test_healthcheck_of_no_daemon_fails_and_starts_none(site):
    done = healthcheck(site)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert not list(site.cache.glob("stokerd.sock"))
    done = healthcheck(site, STOKER_URL="http://127.0.0.1:9")
    assert done.returncode == 1 and "http://127.0.0.1:9" in done.stderr


def test_healthcheck_of_a_daemon_that_drains_is_alive_and_not_ready(site, tmp_path):
    daemon = Daemon(tmp_path)
    url = {"STOKER_URL": daemon.url}
    try:
        for arguments, text in ((), "healthy\n"), (("--ready",), "ready\n"):
            done = healthcheck(site, *arguments, **url)
            assert (done.returncode, done.stdout) == (0, text)
    finally:
        daemon.stop()
    assert healthcheck(site, **url).returncode == 1


def test_healthcheck_of_what_is_no_daemon_fails(site):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = healthcheck(site, STOKER_URL=url)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "stoker: What answers there is no stokerd.\n")
        done = run_tool(STOKER, "stats", env={**site.env, "STOKER_URL": url})
        assert done.returncode == 1 and done.stderr == "stoker: The answer is no JSON: a stokerd gives no such.\n"
        server.shutdown()


# ---- systemd -----------------------------------------------------------------------------------


def test_the_service_manager_hears_of_start_reload_and_stop(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(WAIT_S)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "60000000")
        daemon = Daemon(tmp_path)

        def heard():
            while (said := manager.recv(4096).decode()) == "WATCHDOG=1":
                pass
            return said

        try:
            assert heard() == "READY=1\nSTATUS=Serving."
            assert wait_for(lambda: manager.recv(4096).decode() == "WATCHDOG=1")
            daemon.process.send_signal(signal.SIGHUP)
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", heard())
            assert heard() == "READY=1\nSTATUS=Serving."
        finally:
            daemon.stop()
        assert heard() == "STOPPING=1"


def test_a_daemon_of_a_job_is_no_service_of_the_jobs_manager(site, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        done = run_tool(STOKER, "stats", env={**site.env, "NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert done.returncode == 0, done.stderr
        site.tool("stop")
        with pytest.raises(BlockingIOError):
            manager.recv(4096)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is missing")
def test_the_unit_is_sound_and_hardened(tmp_path):
    unit = tmp_path / "etc" / "systemd" / "system" / "stokerd.service"
    unit.parent.mkdir(parents=True)
    for program in "usr/bin/stokerd", "bin/kill":
        (tmp_path / program).parent.mkdir(parents=True)
        shutil.copy("/bin/true", tmp_path / program)
    shutil.copy(DOCKER / "systemd" / "stokerd.service", unit)
    done = run_tool("systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                    f"--root={tmp_path}", "stokerd.service")
    assert (done.returncode, done.stderr) == (0, "")
    done = run_tool("systemd-analyze", "security", "--offline=yes", "--threshold=40",
                    f"--root={tmp_path}", "stokerd.service")
    assert done.returncode == 0, done.stdout


# ---- Debian packages ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """{name: the folder into which the package is unpacked}."""
    made = tmp_path_factory.mktemp("deb")
    done = run_tool("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", made,
                    "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=made)
    assert done.returncode == 0, done.stdout + done.stderr
    unpacked = {}
    for package in made.glob("*.deb"):
        folder = made / package.name.partition("_")[0]
        run_tool("dpkg-deb", "--raw-extract", package, folder).check_returncode()
        unpacked[folder.name] = folder
    return unpacked


def test_packages_hold_what_their_names_say(packages):
    files = {
        name: sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                     if not path.is_dir() and "DEBIAN" not in path.parts)
        for name, folder in packages.items()}
    assert files["stokerd"] == [
        "usr/bin/stokerd", "usr/lib/systemd/system/stokerd.service", "usr/share/stoker/stokerd.toml"]
    assert files["stoker"] == ["usr/bin/stoker"]
    assert [re.sub(r"(\.\d+)+$", ".N", path) for path in files["libstoker0"]] == 2 * [
        "usr/lib/libstoker.so.N"]
    assert {"usr/include/stoker/stoker.h", "usr/lib/libstoker.so",
            "usr/lib/cmake/stoker/stokerConfig.cmake"} <= set(files["libstoker-dev"])
    control = {name: (folder / "DEBIAN" / "control").read_text() for name, folder in packages.items()}
    assert re.search(r"Depends: .*libc6 \(>= ", control["stokerd"])
    assert re.search(r"Depends: .*libstoker0 \(= ", control["stoker"])
    for script in packages["stokerd"].glob("DEBIAN/p*"):
        run_tool("sh", "-n", script).check_returncode()


def test_unpacked_programs_run_with_the_packaged_configuration(packages, tmp_path):
    root = packages["stokerd"] / "usr"
    done = run_tool(root / "bin" / "stokerd", "--config", root / "share/stoker/stokerd.toml",
                    "--check-config", env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    assert 'cache_dir = "/var/lib/stoker"' in done.stdout
    done = run_tool(packages["stoker"] / "usr" / "bin" / "stoker", "--version",
                    env={"LD_LIBRARY_PATH": str(packages["libstoker0"] / "usr" / "lib")})
    assert done.returncode == 0, done.stderr


# ---- Prometheus, Grafana, containers -----------------------------------------------------------


def queries():
    board = json.loads((DOCKER / "grafana" / "dashboards" / "stoker.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for group in yaml.safe_load((DOCKER / "prometheus" / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def test_dashboard_and_alerts_ask_for_metrics_that_are_served(tmp_path):
    daemon = Daemon(tmp_path)
    try:
        daemon.call("GET", "/-/healthy")
        text = daemon.call("GET", "/metrics")[1].decode()
    finally:
        daemon.stop()
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    served = {name for name, kind in types.items() if kind != "histogram"} | {
        f"{name}_{part}" for name, kind in types.items() if kind == "histogram"
        for part in ("bucket", "sum", "count")}
    asked = {(title, name) for title, query in queries()
             for name in re.findall(r"\bstoker_\w+", query)}
    assert len(asked) > 20
    assert {(title, name) for title, name in asked if name not in served} == set()


def composed(over=None):
    """The daemon's service in compose.yaml, or in what stands over it."""
    name = f"compose.{over}.yaml" if over else "compose.yaml"
    return yaml.safe_load((DOCKER / name).read_text())["services"]["stokerd"]


def containers():
    compose = composed()
    yield "compose", compose["command"], compose["environment"]
    yield "compose.tls", composed("tls")["command"], compose["environment"]
    for document in yaml.safe_load_all((DOCKER / "kubernetes" / "stokerd.yaml").read_text()):
        if document["kind"] == "StatefulSet":
            [container] = document["spec"]["template"]["spec"]["containers"]
            yield "kubernetes", container["args"], {}
            for probe in "livenessProbe", "readinessProbe", "startupProbe":
                command = container[probe]["exec"]["command"]
                assert run_tool(STOKER, *command[1:], "--help").returncode == 0


def test_containers_start_the_daemon_with_options_that_it_has(tmp_path):
    image = (DOCKER / "Dockerfile").read_text()
    entry = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", image, re.MULTILINE)[1])
    checked = 0
    for name, arguments, variables in containers():
        done = run_tool(STOKERD, *entry[1:], *arguments, "--check-config",
                        env={"STOKER_CACHE_DIR": str(tmp_path), **variables})
        assert done.returncode == 0, f"{name}: {done.stderr}"
        checked += 1
    assert checked == 3


def test_compose_builds_targets_that_there_are():
    stages = re.findall(r"^FROM \S+ AS (\S+)$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    assert composed()["build"]["target"] in stages
    assert composed("cuda")["build"]["target"] in stages
    assert composed("cuda")["image"] != composed()["image"]


def test_compose_for_other_hosts_keeps_the_address_that_prometheus_reads():
    scraped, = re.findall(r'targets: \["(\S+)"\]', (DOCKER / "prometheus" / "prometheus.yml").read_text())
    assert f"--listen=http://{scraped}" in composed("tls")["command"]
    assert f"http://{scraped}" in composed()["command"]


# ---- The image ---------------------------------------------------------------------------------


@contextlib.contextmanager
def served(site, tmp_path, tag):
    """A container of the image, which jobs of `site` use meanwhile."""
    container = images.Container(tag)
    run_folder = tmp_path / "run"
    run_folder.mkdir(mode=0o777)
    run_folder.chmod(0o777)
    process = subprocess.Popen(
        container.command(
            "stokerd", "--listen", "unix:/run/stoker/stokerd.sock", volumes={run_folder: "/run/stoker"},
            variables={"STOKER_SOCKET_MODE": "0666", "STOKER_OTHER_USERS": "read,write"}),
        text=True, stderr=subprocess.PIPE)
    try:
        url = {"STOKER_URL": f"unix:{run_folder}/stokerd.sock", "STOKER_DAEMON_USER": str(images.USER)}
        wait_for(lambda: process.poll() is not None or healthcheck(site, **url).returncode == 0)
        assert process.poll() is None, process.stderr.read()
        site.env.update(url)
        yield container
    finally:
        run_tool(STOKER, "stop", env={**site.env, "STOKER_DAEMON_USER": str(images.USER)})
        process.kill()
        process.wait()
        container.close()


@pytest.mark.skipif(images.missing() is not None, reason=f"{images.missing()} is missing")
def test_the_image_builds_serves_and_compiles(site, tmp_path):
    images.make_image(BUILD, "stokerd-test", tmp_path)
    config = images.config("stokerd-test")
    assert config["User"] == "stoker" and set(config["Volumes"]) == {"/data", "/run/stoker"}
    with served(site, tmp_path, "stokerd-test") as container:
        for which in "--user", "--group":  # As docker/ says whose a key may be.
            assert run_tool(*container.command("id", which)).stdout.strip() == str(images.USER)
        result = site.finish(start(site, (32, 48, 8, 4)))
        assert result["error"] <= 1e-5
        assert site.stats()["compiles"] == 1
        probe, *check = config["Healthcheck"]["Test"]
        asked = run_tool(*container.command(*check, volumes={tmp_path / "run": "/run/stoker"}))
        assert (probe, asked.stdout) == ("CMD", "healthy\n"), asked.stderr
        # A root file system that is read-only is no hindrance: nothing else is the daemon's own.
        owned = run_tool("find", container.root, "-uid", images.USER).stdout.split()
        assert {os.path.relpath(path, container.root).split("/")[0] for path in owned} <= {"data", "run"}, owned


def test_stages_that_are_chosen_have_a_default_where_they_are_used():
    """The buildah of Debian 12 finds none that an ARG gives."""
    text = (DOCKER / "Dockerfile").read_text()
    chosen = re.findall(r"^FROM (\S*\$\S*) AS", text, re.MULTILINE)
    assert len(chosen) == 2
    for stage in chosen:
        [default] = re.findall(r"^\$\{[A-Z]+:-([a-z-]+)\}$", stage)
        assert re.search(rf"^FROM \S+ AS {default}$", text.partition(stage)[0], re.MULTILINE)


def test_the_image_for_gpus_has_the_nvjitlink_of_the_newest_pytorch():
    """Another version makes kernels that have other keys."""
    pins = {
        re.search(r"^nvidia-nvjitlink==(\S+)", path.read_text(), re.MULTILINE)[1]
        for path in (DOCKER / "requirements-cuda.txt",
                     max((DOCKER / "torch").glob("*.txt"), key=lambda path: [*map(int, path.stem.split("."))]))}
    assert len(pins) == 1


@pytest.mark.skipif(images.missing() is not None, reason=f"{images.missing()} is missing")
@pytest.mark.skipif(images.nvjitlink() is None, reason="nvidia-nvjitlink is not in this Python environment")
def test_the_image_for_gpus_compiles_for_one_without_one(site, make_site, tmp_path):
    recorded = tmp_path / "job.manifest"
    record(make_site(), POINTWISE, recorded)
    images.make_image(BUILD, "stokerd-cuda-test", tmp_path, target="daemon-cuda")
    with served(site, tmp_path, "stokerd-cuda-test"):
        done = json.loads(site.tool(
            "warm", str(recorded), "--target", "cuda/sm_90a", "--target", "cpu/x86-64-v4", "--json"))
        assert (done["compiled"], done["failed"]) == (2, 0)
        site.tool("warm", str(recorded), "--target", "cuda/sm_90a", "--check")
        assert re.search("compiles for +cpu, cuda$", site.tool("doctor"), re.MULTILINE)
