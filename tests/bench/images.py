"""The daemon's image, and containers of it: by buildah, as root, without an engine and, where need be, a registry."""

import importlib.metadata
import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
BASE = "docker.io/library/debian:bookworm-slim"
USER = 8471  # The daemon's in the image.
NEEDED = ("buildah", "debootstrap")
TIMEOUT_S = 900


def missing():
    """The first program that is needed and not there, or None."""
    return next((name for name in NEEDED if not shutil.which(name)), None)


def _run(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr or done.stdout}")
    return done.stdout.strip()


def buildah(*arguments):
    return _run("buildah", "--storage-driver", "vfs", *arguments)


def make_base(folder):
    """Has Debian's smallest under the name that the Dockerfile takes, where it is not."""
    known = buildah("images", "--quiet", "--filter", f"reference={BASE}")
    if not known:
        _run("debootstrap", "--variant=minbase", "bookworm", folder / "debian")
        container = buildah("from", "scratch")
        buildah("copy", container, folder / "debian", "/")
        buildah("commit", "--rm", container, BASE)


def make_image(build, tag, folder, target="daemon"):
    """The image of what is built in `build`, from docker/Dockerfile."""
    make_base(folder)
    context = folder / "context"
    _run("cmake", "--install", build, "--strip", "--prefix", context / "dist" / "stoker-0-linux-x86_64")
    (context / "docker").mkdir()
    shutil.copy(ROOT / ".dockerignore", context)  # Which lets through what it must.
    shutil.copy(DOCKER / "packages.txt", context / "docker")
    arguments = ["--build-arg", "BUILT=prebuilt"]
    if target == "daemon-cuda":
        _unpack_nvjitlink(context / "dist" / "nvjitlink")
        arguments += ["--build-arg", "NVJITLINK=nvjitlink-prebuilt"]
    # OCI's format, which is buildah's own, has no place for a health check.
    buildah("bud", "--format", "docker", "--isolation", "chroot", *arguments, "--file", DOCKER / "Dockerfile",
            "--target", target, "--tag", tag, context)


def nvjitlink():
    """NVIDIA's library in this Python environment, of whose wheel daemon-cuda is made; or None."""
    return next((file.locate() for file in _wheel() if file.name == "libnvJitLink.so.13"), None)


def _wheel():
    try:
        return importlib.metadata.files("nvidia-nvjitlink")
    except importlib.metadata.PackageNotFoundError:
        return []


def _unpack_nvjitlink(folder):
    for file in _wheel():
        if file.name in ("libnvJitLink.so.13", "License.txt"):
            (folder / file).parent.mkdir(parents=True)
            shutil.copy(file.locate(), folder / file)


def config(tag):
    """What the image says of containers, as Docker has it."""
    return json.loads(buildah("inspect", "--type", "image", tag))["Docker"]["config"]


class Container:
    def __init__(self, tag):
        self._name = buildah("from", "--pull-never", tag)
        self.root = Path(buildah("mount", self._name))

    def command(self, *arguments, volumes={}, variables={}):
        """What runs these arguments in it. `volumes`: {folder here: folder there}."""
        return [
            "buildah", "--storage-driver", "vfs", "run", "--isolation", "chroot",
            *(part for here, there in volumes.items() for part in ("--volume", f"{here}:{there}")),
            *(part for name, value in variables.items() for part in ("--env", f"{name}={value}")),
            self._name, "--", *map(str, arguments)]

    def close(self):
        buildah("rm", self._name)
