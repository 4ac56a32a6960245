"""./dev opinfo: every sample of every operator of PyTorch's own table, forward and gradients, in three dtypes, without
captures, beside eager PyTorch (op_samples_job.py).

usage: opinfo.py [--captures] [--dtype NAME...] [--share N [--seed S]] [--samples COUNT] [--keep FOLDER] [--store] [OPERATOR...]

--captures: forward alone, with captures, all operators of a process through one function, which says nothing about the
operator that it calls; and once more by other processes, which start warm from what all of the first ones recorded.

--share: one operator in N, drawn with the seed. --samples: so many of each operator, spread over all, in place of all.
--keep: a folder for what each operator gave; started again with it, the same run goes on where it was stopped.
Prints what differs, what PyTorch ran a part of and why, and for each dtype how many operators passed. Exits 1 if a
result differs. --store writes what PyTorch ran a part of to opinfo_fallbacks.txt, which test_op_samples.py reads.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import typing

import torch
from op_samples_job import named_operators
from opinfo_list import FALLBACKS, text_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = ("float32", "float64", "bfloat16")
# A process that goes on for longer than this hangs in the operator that it did not report.
CHUNK, CHUNK_TIMEOUT_S = 12, 3600


class Run(typing.NamedTuple):
    """Every operator once."""

    dtype: str
    gradients: bool = False
    captures: str = ""  # The first run that makes them, or another that starts from them.

    def __str__(self):
        return f"{self.dtype}{' with gradients' if self.gradients else ''}{self.captures and ', '}{self.captures}"

    def arguments(self):
        """Of the job."""
        return ["--dtype", self.dtype, *["--gradients"] * self.gradients, *["--shared"] * bool(self.captures)]


def runs(dtypes, captures):
    """Side by side, and one group after the other."""
    if captures:
        return [[Run(dtype, captures=kind) for dtype in dtypes] for kind in ("cold", "warm")]
    return [[Run(dtype, gradients) for dtype in dtypes for gradients in (False, True)]]


def environment(folder, captures):
    build = ROOT / "build" / "dev"
    return dict(
        os.environ, STOKER_CACHE_DIR=folder, STOKER_CAPTURES="on" if captures else "off", OMP_NUM_THREADS="1",
        STOKER_DAEMON=str(build / "bin" / "stokerd"), STOKER_LIBRARY=str(build / "lib" / "libstoker.so"))


def outcomes_of(names, run, samples, env, folder):
    """The job's lines for these operators, kept in a file of `folder`; an operator in which it ended is one that
    failed."""
    path = pathlib.Path(folder, f"{'-'.join(run.arguments())[2:]}{run.captures}-{samples or 'all'}-{names[0]}.jsonl")
    command = [sys.executable, str(pathlib.Path(__file__).with_name("op_samples_job.py")),
               *run.arguments(), "--samples", str(samples)]
    while len(lines := kept_lines(path)) < len(names):
        with open(path, "a") as output, tempfile.TemporaryFile("w+") as errors:
            try:
                ended = subprocess.run(
                    [*command, *names[len(lines):]], env=env, stdout=output, stderr=errors,
                    timeout=CHUNK_TIMEOUT_S).returncode
            except subprocess.TimeoutExpired:
                ended = f"a timeout of {CHUNK_TIMEOUT_S} s"
            errors.seek(0)
            last = errors.read().strip().rpartition("\n")[2]
        lines = kept_lines(path)
        if len(lines) < len(names):
            with open(path, "a") as output:
                print(json.dumps({
                    "op": names[len(lines)], "outcome": "failed", "why": f"the process ended with {ended}: {last}",
                    "fallbacks": {}, "hits": 0}), file=output)
    return lines


def kept_lines(path):
    """Without the rest of one that a process which was ended did not write to its end."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[:text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return list(map(json.loads, whole.splitlines()))


def partly_eager(found):
    """What opinfo_list.text_of() takes; over all dtypes."""
    users = {}
    for run, lines in found.items():
        for line in lines:
            if line["fallbacks"]:
                parts = users.setdefault(line["op"], {"forward": {}, "gradients": {}})
                firsts = parts["gradients" if run.gradients else "forward"]
                for operator, place in line["fallbacks"].items():
                    firsts[operator] = min(place, firsts.get(operator, place))
    return users


def print_causes(users):
    """What PyTorch ran, and for which operators of the table."""
    causes = {}
    for name, parts in users.items():
        for operator in {*parts["forward"], *parts["gradients"]}:
            causes.setdefault(operator, []).append(name)
    for operator, names in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"PyTorch ran {operator} for {len(names)}: {' '.join(sorted(names))}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--captures", action="store_true")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args()
    if options.store and (options.share > 1 or options.operators or options.captures or options.dtype != DTYPES):
        parser.error("--store: of every operator and dtype, without captures")
    names = options.operators or list(named_operators())
    names = random.Random(options.seed).sample(names, -(-len(names) // options.share))
    size = min(CHUNK, max(1, len(names) // os.cpu_count()))
    chunks = [names[first:first + size] for first in range(0, len(names), size)]
    # The daemon takes a moment to leave its folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        env = environment(folder, options.captures)
        kept = options.keep or pathlib.Path(folder, "outcomes")
        kept.mkdir(parents=True, exist_ok=True)
        found = {}
        for group in runs(options.dtype, options.captures):
            futures = {run: [pool.submit(outcomes_of, chunk, run, options.samples, env, kept) for chunk in chunks]
                       for run in group}
            found |= {run: [line for future in parts for line in future.result()] for run, parts in futures.items()}
        subprocess.run([str(ROOT / "build" / "dev" / "bin" / "stoker"), "stop"], env=env, capture_output=True)
    failed = 0
    users = partly_eager(found)
    print_causes(users)
    for run, lines in found.items():
        for line in lines:
            if line["outcome"] == "failed":
                failed += 1
                print(f"{run}: {line['op']}: {line['why']}")
        tried = [line for line in lines if line["outcome"] != "skipped"]
        partly = sum(bool(line["fallbacks"]) for line in tried)
        warm = f", {sum(line['hits'] for line in tried)} warm starts" if run.captures else ""
        print(f"{run}: {len(tried)} operators, PyTorch runs a part of {partly}{warm}")
    if options.store:
        version = torch.__version__.partition("+")[0]
        FALLBACKS.write_text(text_of(users, version, len(names), options.samples))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
