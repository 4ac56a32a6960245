#!/usr/bin/env python3
"""How a call's time falls with more threads, beside PyTorch's modes on as many.

Question: is every thread worth having? Each model is started once by each implementation for each number of threads
(OMP_NUM_THREADS, which PyTorch and Stoker follow), and all of them are timed in turns.
"""

import argparse
import contextlib
import json
import os
import sys

import turns
from cpu import PYTORCH, TURNS, groups_of, parse_only
from figures import figure, ratio
from gate import Gate
from models import TITLES
from rows import Bench, cell, machine, say, table

ROWS = (("gpt2", "float32", 1), ("bert", "bfloat16", 1), ("resnet50", "float32", 1), ("resnet50", "bfloat16", 16))
IMPLEMENTATIONS = tuple(name for name in PYTORCH if name != "zentorch") + ("stoker",)
SECONDS_PER_TURN = 0.2


def powers_up_to(cores):
    """1, 2, 4, ... and the number of cores itself."""
    counts = [1]
    while 2 * counts[-1] <= cores:
        counts.append(2 * counts[-1])
    return counts if counts[-1] == cores else [*counts, cores]


def parse_counts(text):
    counts = sorted({int(part) for part in text.split(",")})
    if counts[0] < 1 or counts[-1] > len(os.sched_getaffinity(0)):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not within 1 and the {len(os.sched_getaffinity(0))} processors of this process.")
    return counts


def points_of(bench, turn, case, implementations, counts):
    """A row for each implementation and number of threads of one model, dtype and batch."""
    name = "-".join(map(str, case))
    with contextlib.ExitStack() as started:
        with turn.beside_others():
            bench.start(*case, "reference", bench.cache(f"{name}-reference"))
        starts = {}
        for implementation in implementations:
            # One cache: what does not depend on the number of threads is compiled once.
            cache = bench.cache(f"{name}-{implementation}")
            for count in counts:
                with turn.beside_others():
                    start = bench.start_in_turns(
                        *case, implementation, cache, f"{count} threads", OMP_NUM_THREADS=str(count))
                started.callback(start.close)
                starts[implementation, count] = start
        with turn.alone():
            for count in counts:
                turns.take([starts[key] for key in starts if key[1] == count], TURNS, SECONDS_PER_TURN)
    if "stoker" in implementations:
        bench.stop_daemon(bench.cache(f"{name}-stoker"))
    return [point_of(case, *key, start.figures) for key, start in starts.items()]


def point_of(case, implementation, threads, figures):
    steady = figure([1e3 * call for call in figures.get("steady_samples_s", ())])
    row = dict(zip(("model", "dtype", "batch"), case), impl=implementation, threads=threads, steady_ms=steady)
    return row | {key: figures[key] for key in ("rel_err", "error") if key in figures}


def curves(points):
    """{(model, dtype, batch): {implementation: {threads: ms}}}"""
    found = {}
    for point in points:
        case = found.setdefault((point["model"], point["dtype"], point["batch"]), {})
        case.setdefault(point["impl"], {})[point["threads"]] = point["steady_ms"] and point["steady_ms"]["median"]
    return found


def lines_of(points, counts):
    """Of the table: each implementation's times, and how many times as fast the most threads are as the fewest; then
    Stoker as a multiple of the best of the others on as many threads."""
    lines = []
    for (model, dtype, batch), case in curves(points).items():
        title = f"{TITLES[model]}, {dtype}, batch {batch}"
        for implementation, times in case.items():
            lines.append([
                title, implementation, *(cell(times.get(count), ".2f") for count in counts),
                cell(ratio(times.get(counts[0]), times.get(counts[-1])), ".2f")])
        others = [times for name, times in case.items() if name != "stoker"]
        if "stoker" in case and others:
            best = {count: min((times[count] for times in others if times.get(count)), default=None) for count in counts}
            lines.append([
                title, "best / stoker", *(cell(ratio(best[count], case["stoker"].get(count)), ".2f") for count in counts),
                ""])
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=parse_only, metavar="MODEL,DTYPE,BATCH", help="in place of the four rows")
    parser.add_argument("--impl", metavar="NAME,...", help=f"of {', '.join(IMPLEMENTATIONS)}")
    parser.add_argument("--threads", type=parse_counts, metavar="N,...",
                        help="numbers of threads (default: powers of two, and all processors)")
    parser.add_argument("--side-by-side", type=int, default=1, metavar="N",
                        help="start N models at once; each is timed while no other computes (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    arguments = parser.parse_args()
    implementations = arguments.impl.split(",") if arguments.impl else IMPLEMENTATIONS
    if unknown := set(implementations) - set(IMPLEMENTATIONS):
        parser.error(f"no implementation {', '.join(sorted(unknown))}")
    counts = arguments.threads or powers_up_to(len(os.sched_getaffinity(0)))
    cases, turn = arguments.only or ROWS, Gate()
    say(machine())
    with Bench(len(cases) * (1 + len(implementations) * len(counts))) as bench:
        points = groups_of(
            lambda case: points_of(bench, turn, case, implementations, counts), cases, arguments.side_by_side)
    print(table(["model", "ms on threads:", *map(str, counts), f"{counts[0]} / {counts[-1]}"], lines_of(points, counts)))
    if arguments.json:
        print(json.dumps({"rows": points, "threads": counts, "machine": machine()}))
    return int(any("error" in point for point in points))


if __name__ == "__main__":
    sys.exit(main())
