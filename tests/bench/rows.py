"""Runs starts one after another, each in its own process, and makes the rows and tables of a benchmark."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import turns
from figures import fault_of, figure, median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
START_TIMEOUT_S = 900

# A first call of these may find the work of an earlier process.
CACHING = ("inductor", "inductor-freezing", "zentorch", "stoker")


def say(text):
    print(text, file=sys.stderr, flush=True)


def machine():
    """What a table is headed with."""
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return (f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
            f"commit {commit.stdout.strip() or 'unknown'}")


def _label(model, dtype, batch, implementation, note):
    return f"{model} {dtype} batch {batch}, {implementation}{note and ' ' + note}"


def _say_of(label, figures, errors, started):
    for line in errors.splitlines():
        if "stoker" in line and "error" not in figures:
            say(f"    {line}")
    first = figures.get("first_call_s")
    told = f"first call {first:.2f} s" if first else ""
    if figures.get("steady_s"):
        told += f", then {1e3 * figures['steady_s']:.2f} ms"
    say(f"    {label}: {told or figures.get('error', '')}  ({time.perf_counter() - started:.0f} s)")


class Bench:
    """Temporary folders, daemons and processes of one run; `starts` is how many there will be."""

    def __init__(self, starts):
        self.folder = Path(tempfile.mkdtemp(prefix="stoker-bench-"))
        self.stats = {}
        self._starts, self._done = starts, 0
        self._daemons = set()

    def close(self):
        for cache in list(self._daemons):
            self.stop_daemon(cache)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def cache(self, name):
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def environment(self, cache):
        """Caches in `cache` and nowhere else; the Python package of this tree."""
        python = os.pathsep.join(
            filter(None, (str(ROOT / "client" / "python"), os.environ.get("PYTHONPATH"))))
        ours = {
            "PYTHONPATH": python,
            "STOKER_CACHE_DIR": str(cache), "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        kept = {name: value for name, value in os.environ.items() if name != "STOKER_URL"}
        return kept | ours

    def start(self, model, dtype, batch, implementation, cache, note=""):
        """The figures of one process, or {"error": ...}."""
        # After a cold start nobody looks at the calls that follow: a warm one is next.
        first = ["--first-call"] if note == "cold" else []
        return self.process(
            _label(model, dtype, batch, implementation, note), implementation, cache,
            [*self._measure(model, dtype, batch, implementation), *first])

    def start_in_turns(self, model, dtype, batch, implementation, cache, note="", **variables):
        """A turns.Start that has made its first call; `variables` of its environment."""
        label = _label(model, dtype, batch, implementation, note)
        started = self._begin(label, implementation, cache)
        start = turns.Start(
            [*self._measure(model, dtype, batch, implementation), "--in-turns"],
            self.environment(cache) | variables, START_TIMEOUT_S)
        _say_of(label, start.figures, start.errors(), started)
        return start

    def process(self, label, implementation, cache, arguments, **variables):
        """The JSON object in the last line that a Python script prints, or {"error": ...}."""
        started = self._begin(label, implementation, cache)
        try:
            process = subprocess.run(
                [sys.executable, *arguments], env=self.environment(cache) | variables,
                capture_output=True, text=True, timeout=START_TIMEOUT_S)
            errors = process.stderr
            figures = json.loads(process.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError) as error:
            errors = str(getattr(error, "stderr", None) or getattr(locals().get("process"), "stderr", ""))
            figures = {"error": (errors or repr(error))[-500:]}
        _say_of(label, figures, errors, started)
        return figures

    def _measure(self, model, dtype, batch, implementation):
        return [str(HERE / "measure.py"), model, dtype, str(batch), implementation, str(self.folder)]

    def _begin(self, label, implementation, cache):
        self._done += 1
        say(f"[{self._done}/{self._starts}] {label} ...")
        if implementation.startswith("stoker"):
            self._daemons.add(cache)
        return time.perf_counter()

    def command(self, cache, *arguments):
        """What the command line `stoker` prints."""
        program = program_named("stoker")
        process = subprocess.run(
            [str(program), *arguments], env=self.environment(cache), capture_output=True, text=True,
            timeout=60)
        if process.returncode:
            raise RuntimeError(f"stoker {' '.join(arguments)}: {process.stderr.strip()}")
        return process.stdout

    def collect_stats(self, cache):
        try:
            add_numbers(self.stats, json.loads(self.command(cache, "stats", "--json")))
        except (RuntimeError, OSError, json.JSONDecodeError) as error:
            say(f"    no statistics: {error}")

    def stop_daemon(self, cache):
        self._daemons.discard(cache)
        try:
            self.command(cache, "stop")
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            say(f"    the daemon does not stop: {error}")


def program_named(name):
    from stoker.libstoker.library import find_program

    return find_program(name)


def add_numbers(total, part):
    """Adds the numbers of nested dictionaries; other values are replaced."""
    for key, value in part.items():
        if isinstance(value, dict):
            add_numbers(total.setdefault(key, {}), value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            total[key] = total.get(key, 0) + value
        else:
            total[key] = value


# What a row holds of its starts: name, which starts, what they call it.
ROW_FIGURES = (
    ("cold_first_call_s", "cold", "first_call_s"), ("warm_first_call_s", "warm", "first_call_s"),
    ("compile_s", "cold", "ready_s"), ("load_s", "warm", "ready_s"),
    ("bind_s", "cold", "bind_s"), ("peak_rss_mib", "cold", "peak_rss_mib"))


def row(bench, model, dtype, batch, implementation, caches, flops=None):
    """One row: for each folder of `caches` a cold start, and a warm one where that makes a difference.

    Numbers are medians over the starts, steady_ms one over the calls of all warm ones; "figures" has
    their spread.
    """
    caching = implementation in CACHING
    starts = {"cold": [], "warm": []}
    for cache in caches:
        starts["cold"].append(
            bench.start(model, dtype, batch, implementation, cache, "cold" if caching else ""))
        if caching:
            starts["warm"].append(bench.start(model, dtype, batch, implementation, cache, "warm"))
    return row_of(model, dtype, batch, implementation, starts["cold"], starts["warm"], flops)


def row_of(model, dtype, batch, implementation, cold, warm, flops=None):
    """The row of what cold and warm starts have reported, as many of each; what is no measure of it is left out."""
    faults = [fault_of(implementation, dtype, start) for start in (*cold, *warm)]
    starts = {
        which: [start for start in all_starts if not fault_of(implementation, dtype, start)]
        for which, all_starts in (("cold", cold), ("warm", warm))}
    figures = {
        name: figure([start.get(key) for start in starts[which]])
        for name, which, key in ROW_FIGURES}
    figures["rel_err"] = figure([start.get("rel_err") for start in (*cold, *warm)])
    figures["steady_ms"] = figure([
        1e3 * call for start in starts["warm" if warm else "cold"] for call in start.get("steady_samples_s", ())])
    first, last = cold[0], (warm or cold)[-1]
    result = {
        "model": model, "dtype": dtype, "batch": batch, "impl": implementation,
        **{name: median(value) for name, value in figures.items()},
        "graphs": first.get("graphs"), "fallback_ops": first.get("fallback_ops", []),
        "kernels_unique": first.get("kernels_unique"), "slowest_kernel": last.get("slowest_kernel"),
        "slowest_share": last.get("slowest_share"), "flops": flops, "peak_share": None,
        "figures": figures}
    if implementation == "stoker":
        result["warm_sources"] = last.get("sources")
    if any(faults):
        result["error"] = next(filter(None, faults))
    return result


# ---- Tables ---------------------------------------------------------------------------------------


def cell(value, form):
    return "-" if value is None else format(value, form)


def table(heads, lines):
    """Columns aligned: text to the left, the rest to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *lines)]
    text = []
    for line in (heads, *lines):
        text.append("  ".join(
            item.ljust(width) if place < 2 else item.rjust(width)
            for place, (item, width) in enumerate(zip(line, widths))).rstrip())
    text.insert(1, "-" * max(map(len, text)))
    return "\n".join(text)


def row_cells(result):
    return [
        cell(result["cold_first_call_s"], ".2f"), cell(result["warm_first_call_s"], ".2f"),
        cell(result["steady_ms"], ".2f"), cell(result["rel_err"], ".1e")]


ROW_HEADS = ["cold first call, s", "warm, s", "steady, ms", "error"]
