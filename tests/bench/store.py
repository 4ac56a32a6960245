"""Runs that are kept, for README.md: results/<bench>-<processor class>-torch<version>.json."""

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

import peers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results"
PACKAGES = (
    "torch", "triton", "transformers", "torchvision", "numpy", "onnxruntime", "openvino", "zentorch")
SIGNIFICANT_DIGITS = 5


def add_arguments(parser):
    parser.add_argument("--store", action="store_true",
                        help="keep the run in tests/bench/results, for ./dev bench readme")
    parser.add_argument("--allow-dirty", action="store_true",
                        help="store although the tree differs from its commit")


def check_arguments(parser, arguments, whole):
    """A stored run is whole, and of a commit: known before an hour is spent on it."""
    if not arguments.store:
        return
    if not whole:
        parser.error("--store keeps whole runs: without --only and --impl.")
    if changes() and not arguments.allow_dirty:
        parser.error(
            "--store needs a tree that is its commit; these differ (--allow-dirty stores all the same):\n"
            + changes())


def _git(*arguments):
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout


def changes():
    """What differs from the commit: the runs stored before do not count."""
    return _git("status", "--porcelain", "--", ".", ":!tests/bench/results")


def processor_class(vendor, target, cores):
    """What one table is about: intel-amx-2cores, amd-avx512-16cores."""
    maker = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(vendor, "other")
    vectors = "amx" if "amx_bf16" in target else "avx512" if "x86-64-v4" in target else "avx2"
    return f"{maker}-{vectors}-{cores}cores"


def conditions(threads):
    """Where and with what a run is made."""
    from stoker.libstoker.client import client

    processor = peers.cpuinfo()
    described = client().describe()
    cores = len(os.sched_getaffinity(0))
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD").strip(), "dirty": bool(changes()),
        "processor": processor.get("model name", platform.machine()),
        "processor_model": f"family {processor.get('cpu family')}, model {processor.get('model')}, "
                           f"stepping {processor.get('stepping')}",
        "processor_class": processor_class(processor.get("vendor_id"), described["target"], cores),
        "target": described["target"], "cores": cores, "threads": threads,
        "python": platform.python_version(),
        "packages": {name: peers.version_of(name) for name in PACKAGES}}


class Kept:
    """Parts of a run that was cut off, in a folder: the next run of the same commit on a machine like it goes on
    from them. Without a folder it holds nothing."""

    def __init__(self, folder, run):
        self._folder = Path(folder) if folder else None
        self._run = {key: value for key, value in run.items() if key != "date"}
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)

    def read(self, name):
        """What `write` kept under this name in a run like this one, or None."""
        try:
            kept = json.loads((self._folder / f"{name}.json").read_text()) if self._folder else None
        except FileNotFoundError:
            return None
        return kept["item"] if kept and kept["run"] == self._run else None

    def write(self, name, item):
        if self._folder:
            part = self._folder / f"{name}.part"
            part.write_text(json.dumps({"run": self._run, "item": item}))
            part.replace(self._folder / f"{name}.json")


def path_of(bench, run, folder=RESULTS):
    version = run["packages"]["torch"].partition("+")[0]
    return folder / f"{bench}-{run['processor_class']}-torch{version}.json"


def rounded(value):
    """`value` with its floats shortened: nobody measures more digits."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def text_of(document):
    """JSON with a row on each line, so that a difference can be read."""
    head = json.dumps({key: item for key, item in document.items() if key != "rows"}, indent=2)
    rows = ",\n".join(f"    {json.dumps(row)}" for row in document["rows"])
    return f'{head.removesuffix("}").rstrip()},\n  "rows": [\n{rows}\n  ]\n}}\n'


def write(bench, run, rows, folder=RESULTS, **more):
    """The path of what is written."""
    path = path_of(bench, run, folder)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text_of(rounded({"bench": bench, "run": run, **more, "rows": rows})))
    return path


def read(folder=RESULTS):
    """All stored runs, in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
