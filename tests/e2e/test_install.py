"""What users install: the C++ package, the library's exports, the wheel. Each is used from outside the tree."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "dev"
# What is installed and packed once is used by all of them.
pytestmark = pytest.mark.together


def run(*command, **keywords):
    """Standard output of a program that must succeed."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, **keywords)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiler():
    """The C++ compiler that the tree is built with."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", path, "--strip")
    return path


def test_cpp_example_finds_the_package_and_starts_warm(site, prefix, tmp_path):
    source = shutil.copytree(ROOT / "client" / "examples" / "two_layer", tmp_path / "source")
    build = tmp_path / "build"
    run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler()}")
    run("cmake", "--build", build)
    # Nothing says where the daemon is: the library looks beside itself.
    env = {name: value for name, value in site.env.items()
           if name not in ("STOKER_DAEMON", "STOKER_LIBRARY", "PYTHONPATH")}
    found = []
    for _ in range(2):
        description, difference = run(build / "two_layer", env=env).splitlines()
        found.append(json.loads(description)["source"])
        assert float(difference.rpartition(" ")[2]) < 1e-5
    assert found[0] == "compiled" and found[1] in ("memory", "disk")
    assert os.readlink(f"/proc/{site.daemon_pid()}/exe") == str(prefix / "bin" / "stokerd")


def test_libstoker_exports_its_interface_and_nothing_else():
    """A changed interface changes libstoker_exports.txt: what is gone breaks jobs."""
    lines = run("nm", "--dynamic", "--defined-only", BUILD / "lib" / "libstoker.so").splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines}
    expected = (HERE / "libstoker_exports.txt").read_text().split()
    assert sorted(names - {"STOKER_0"}) == expected  # STOKER_0 is the version of them all.


def test_installed_programs_name_no_library_of_ours_or_others(prefix):
    allowed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
               "ld-linux-x86-64.so.2", "libstoker.so.0"}
    for path in (prefix / "bin" / "stoker", prefix / "bin" / "stokerd", prefix / "lib" / "libstoker.so"):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", path))
        assert needed and set(needed) <= allowed, path


@pytest.fixture(scope="module")
def wheel(prefix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps",
        "--no-build-isolation", "--config-settings", "compression=stored", "--wheel-dir", folder,
        ROOT / "client" / "python", env=dict(os.environ, STOKER_BUILD_DIR=str(prefix)))
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_is_for_every_cpython_from_3_11_on(wheel):
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata, = (name for name in names if name.endswith(".dist-info/METADATA"))
        assert "Requires-Python: >=3.11\n" in archive.read(metadata).decode()
        assert not [name for name in names if "cpython" in name]
        assert [name for name in names if ".abi3" in name] == ["stoker/lib/stoker_guards.abi3.so"]
        for name in names:
            if name.endswith(".py"):
                ast.parse(archive.read(name), name, feature_version=(3, 11))
        library = archive.read("stoker/lib/libstoker.so.0")
        guards = archive.read("stoker/lib/stoker_guards.abi3.so")
    # It uses no interpreter: not its C interface of any version. The guards use that of any version.
    assert b"PyObject" in guards and b"libpython" not in guards
    assert b"PyObject" not in library and b"libpython" not in library


def test_installed_wheel_compiles_and_starts_warm(site, wheel, tmp_path):
    target = tmp_path / "site"
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps",
        "--no-index", "--target", target, wheel)
    for name in ("STOKER_DAEMON", "STOKER_LIBRARY"):
        del site.env[name]
    site.env["PYTHONPATH"] = str(target)
    cold, warm = site.run("mlp"), site.run("mlp")
    assert cold["error"] <= 1e-5 and warm["error"] <= 1e-5
    assert cold["last"]["sources"] == ["compiled"]
    assert warm["last"]["sources"][0] in ("memory", "disk")
    assert os.readlink(f"/proc/{site.daemon_pid()}/exe") == str(target / "stoker" / "bin" / "stokerd")
    assert "compiles" in json.loads(run(target / "bin" / "stoker", "stats", "--json", env=site.env))
