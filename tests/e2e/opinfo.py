"""./dev opinfo: every sample of every operator of PyTorch's own table, forward and gradients, in three dtypes, without
captures, beside eager PyTorch (op_samples_job.py).

usage: opinfo.py [--share N [--seed S]] [--samples COUNT] [--store] [OPERATOR...]

--share: one operator in N, drawn with the seed. --samples: so many of each operator, in place of all. Prints what
differs, and for each dtype how many operators passed and how many PyTorch ran a part of. --store writes
these to opinfo_fallbacks.txt. Exits 1 if a result differs.
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

from op_samples_job import named_operators

ROOT = pathlib.Path(__file__).resolve().parents[2]
FALLBACKS = pathlib.Path(__file__).with_name("opinfo_fallbacks.txt")
RUNS = [(dtype, gradients) for dtype in ("float32", "float64", "bfloat16") for gradients in (False, True)]
# A process that goes on for longer than this hangs in the operator that it did not report.
CHUNK, CHUNK_TIMEOUT_S = 16, 3600


def environment(folder):
    build = ROOT / "build" / "dev"
    return dict(
        os.environ, STOKER_CACHE_DIR=folder, STOKER_CAPTURES="off", OMP_NUM_THREADS="1",
        STOKER_DAEMON=str(build / "bin" / "stokerd"), STOKER_LIBRARY=str(build / "lib" / "libstoker.so"))


def outcomes_of(names, dtype, gradients, samples, env):
    """The job's lines for these operators; an operator in which it ended is one that failed."""
    command = [sys.executable, str(pathlib.Path(__file__).with_name("op_samples_job.py")),
               "--dtype", dtype, "--samples", str(samples), *["--gradients"] * gradients]
    lines = []
    while len(lines) < len(names):
        with tempfile.TemporaryFile("w+") as output:
            try:
                ended = subprocess.run(
                    [*command, *names[len(lines):]], env=env, stdout=output, stderr=subprocess.DEVNULL,
                    timeout=CHUNK_TIMEOUT_S).returncode
            except subprocess.TimeoutExpired:
                ended = f"a timeout of {CHUNK_TIMEOUT_S} s"
            output.seek(0)
            lines += map(json.loads, output)
        if len(lines) < len(names):
            lines.append({
                "op": names[len(lines)], "outcome": "failed", "why": f"the process ended with {ended}",
                "fallbacks": []})
    return lines


def fallback_lines(found):
    """One line for each operator that PyTorch runs: in how many of the table's operators, forward and with gradients."""
    users = {}
    for (_, gradients), lines in found.items():
        for line in lines:
            for operator in line["fallbacks"]:
                users.setdefault(operator, (set(), set()))[gradients].add(line["op"])
    return [f"{operator} {len(forward)} {len(backward)}\n"
            for operator, (forward, backward) in sorted(users.items())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args()
    names = options.operators or list(named_operators())
    names = random.Random(options.seed).sample(names, -(-len(names) // options.share))
    chunks = [names[first:first + CHUNK] for first in range(0, len(names), CHUNK)]
    # The daemon takes a moment to leave its folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        env = environment(folder)
        futures = {run: [pool.submit(outcomes_of, chunk, *run, options.samples, env) for chunk in chunks]
                   for run in RUNS}
        found = {run: [line for future in parts for line in future.result()] for run, parts in futures.items()}
        subprocess.run([str(ROOT / "build" / "dev" / "bin" / "stoker"), "stop"], env=env, capture_output=True)
    failed = 0
    for (dtype, gradients), lines in found.items():
        name = f"{dtype}{' with gradients' if gradients else ''}"
        for line in lines:
            if line["outcome"] == "failed":
                failed += 1
                print(f"{name}: {line['op']}: {line['why']}")
        tried = [line for line in lines if line["outcome"] != "skipped"]
        partly = sum(bool(line["fallbacks"]) for line in tried)
        print(f"{name}: {len(tried)} operators, PyTorch runs a part of {partly}")
    if options.store:
        FALLBACKS.write_text("".join(fallback_lines(found)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
