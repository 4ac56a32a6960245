"""Builds the wheel (PEP 517, PEP 660) with nothing but the standard library.

The package is Python over a C library and one extension module of CPython's stable ABI, so that one wheel
serves every CPython from 3.11 on: py3-none-linux_x86_64. It carries libstoker, the module, stokerd and
stoker from STOKER_BUILD_DIR, by default build/release or build/dev of this source tree. An editable
install points to this folder instead.
With the setting compression=stored the wheel is not compressed, for archives that are as a whole.
"""

import base64
import hashlib
import os
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
NAME, VERSION = PROJECT["name"], PROJECT["version"]
DIST_INFO = f"{NAME}-{VERSION}.dist-info"
BINARIES = (
    "lib/libstoker.so.0", "lib/stoker_guards.abi3.so", "bin/stokerd", "bin/stoker")
EPOCH = (1980, 1, 1, 0, 0, 0)  # Equal content, equal wheel.


class Wheel:
    def __init__(self, directory, tag, compression=zipfile.ZIP_DEFLATED):
        self.tag = tag
        self.name = f"{NAME}-{VERSION}-{tag}.whl"
        self._zip = zipfile.ZipFile(
            Path(directory) / self.name, "w", compression, compresslevel=9)
        self._records = []

    def add(self, path, data, executable=False):
        entry = zipfile.ZipInfo(path, EPOCH)
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = self._zip.compression
        self._zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._records.append(f"{path},sha256={digest},{len(data)}")

    def close(self):
        for path, text in metadata(self.tag).items():
            self.add(f"{DIST_INFO}/{path}", text.encode())
        records = [*self._records, f"{DIST_INFO}/RECORD,,", ""]
        self._zip.writestr(zipfile.ZipInfo(f"{DIST_INFO}/RECORD", EPOCH), "\n".join(records))
        self._zip.close()
        return self.name


def metadata(tag):
    groups = {**PROJECT["entry-points"], "console_scripts": PROJECT["scripts"]}
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items())
    return {
        "METADATA": (
            f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
            f"Summary: {PROJECT['description']}\n"
            f"Requires-Python: {PROJECT['requires-python']}\n"),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": entry_points,
    }


def build_folder():
    chosen = os.environ.get("STOKER_BUILD_DIR")
    source = HERE.parents[1]
    folders = [Path(chosen)] if chosen else [source / "build" / name for name in ("release", "dev")]
    for folder in folders:
        if all((folder / binary).exists() for binary in BINARIES):
            return folder
    raise FileNotFoundError(
        f"None of {', '.join(map(str, folders))} holds {', '.join(BINARIES)}: build the target "
        "'product' first.")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = build_folder()
    stored = (config_settings or {}).get("compression") == "stored"
    wheel = Wheel(wheel_directory, "py3-none-linux_x86_64",
                  zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED)
    for path in sorted([*(HERE / NAME).rglob("*.py"), *(HERE / NAME).rglob("*.json")]):
        wheel.add(path.relative_to(HERE).as_posix(), path.read_bytes())
    for binary in BINARIES:
        wheel.add(f"{NAME}/{binary}", (folder / binary).read_bytes(), executable=True)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Wheel(wheel_directory, "py3-none-any")
    wheel.add(f"__editable__.{NAME}.pth", f"{HERE}\n".encode())
    return wheel.close()
