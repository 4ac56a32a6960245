#!/usr/bin/env python3
"""How a call's time falls with more threads, beside PyTorch's modes on as many.

Question: is every thread worth having? Each model is started once by each implementation for each number of threads
(OMP_NUM_THREADS, which PyTorch and Stoker follow), and all of them are timed in turns. With --one-start each is started
once and told how many to use (torch.set_num_threads): what a short lease of many cores has time for.
"""

import argparse
import contextlib
import json
import os
import sys

import turns
from cpu import PYTORCH, TURNS, groups_of, parse_only
from figures import fault_of, figure, ratio
from gate import Gate
from models import TITLES
from rows import Bench, cell, machine, say, table

ROWS = (("gpt2", "float32", 1), ("bert", "bfloat16", 1), ("resnet50", "float32", 1), ("resnet50", "bfloat16", 16))
IMPLEMENTATIONS = tuple(name for name in PYTORCH if name != "zentorch") + ("stoker",)
SECONDS_PER_TURN = 0.2
LAUNCHES = 15  # Listed of a model.
# Inductor's code is otherwise for as many threads as there were when it was compiled.
ANY_THREADS = {"TORCHINDUCTOR_CPP_DYNAMIC_THREADS": "1"}


class OfOneStart:
    """One number of threads of a start that is asked for several."""

    def __init__(self, start, threads):
        self._start, self._threads, self._calls = start, threads, []

    @property
    def figures(self):
        return self._start.figures | {"steady_samples_s": self._calls}

    @property
    def pid(self):
        return self._start.pid

    def warm_up(self):
        """Dynamo traces once for each number of threads."""
        self._start.calls_for(0, self._threads)

    def take_turn(self, seconds):
        self._calls.extend(self._start.calls_for(seconds, self._threads) or ())

    def check(self):
        """How far the result of a call is off now counts too."""
        self._start.calls_for("check", self._threads)

    def launches(self):
        """{label: us}"""
        launches = {}
        for label, us in self._start.calls_for("launches", self._threads) or ():
            launches[label] = launches.get(label, 0) + us
        return launches


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


def starts_of(bench, turn, case, implementation, counts, one_start, started):
    """{threads: what takes turns}"""
    # One cache: what does not depend on the number of threads is compiled once.
    cache = bench.cache(f"{'-'.join(map(str, case))}-{implementation}")

    def start(count, **variables):
        with turn.beside_others():
            made = bench.start_in_turns(
                *case, implementation, cache, f"{count} threads", OMP_NUM_THREADS=str(count), **variables)
        started.callback(made.close)
        return made

    if not one_start:
        return {count: start(count) for count in counts}
    made = start(counts[-1], **ANY_THREADS)
    starts = {count: OfOneStart(made, count) for count in counts}
    for of_count in starts.values():
        with turn.beside_others():
            of_count.warm_up()
    return starts


def say_launches(case, starts, counts):
    """How the time of Stoker's launches falls, those first that take longest on the most threads."""
    times = {count: starts[count].launches() for count in counts}
    last = times[counts[-1]]
    lines = [
        [label[:60], *(cell(times[count].get(label), ".1f") for count in counts),
         cell(ratio(times[counts[0]].get(label), last[label]), ".2f")]
        for label in sorted(last, key=last.get, reverse=True)[:LAUNCHES]]
    total = [sum(times[count].values()) for count in counts]
    lines.append(["all", *(cell(us, ".1f") for us in total), cell(ratio(total[0], total[-1]), ".2f")])
    say(table([" ".join(map(str, case)), *(f"us on {count}" for count in counts), ""], lines))


def points_of(bench, turn, case, implementations, counts, one_start):
    """A row for each implementation and number of threads of one model, dtype and batch."""
    name = "-".join(map(str, case))
    with contextlib.ExitStack() as started:
        with turn.beside_others(begins=True):
            bench.start(*case, "reference", bench.cache(f"{name}-reference"))
        starts = {
            implementation: starts_of(bench, turn, case, implementation, counts, one_start, started)
            for implementation in implementations}
        with turn.alone():
            others = max(
                turns.take([starts[name][count] for name in implementations], TURNS, SECONDS_PER_TURN)
                for count in counts)
            if told := turns.said_of_others(others):
                say(told)
            if one_start and "stoker" in implementations:
                say_launches(case, starts["stoker"], counts)
        points = [
            point_of(case, implementation, count, starts[implementation][count].figures)
            for implementation in implementations for count in counts]
    if "stoker" in implementations:
        bench.stop_daemon(bench.cache(f"{name}-stoker"))
    say(table(heads_of(counts), lines_of(points, counts)))
    return points


def point_of(case, implementation, threads, figures):
    fault = fault_of(implementation, case[1], figures)
    steady = None if fault else figure([1e3 * call for call in figures.get("steady_samples_s", ())])
    row = dict(zip(("model", "dtype", "batch"), case), impl=implementation, threads=threads, steady_ms=steady)
    if "rel_err" in figures:
        row["rel_err"] = figures["rel_err"]
    return row | {"error": fault} if fault else row


def curves(points):
    """{(model, dtype, batch): {implementation: {threads: ms}}}"""
    found = {}
    for point in points:
        case = found.setdefault((point["model"], point["dtype"], point["batch"]), {})
        case.setdefault(point["impl"], {})[point["threads"]] = point["steady_ms"] and point["steady_ms"]["median"]
    return found


def heads_of(counts):
    return ["model", "ms on threads:", *map(str, counts), f"{counts[0]} / {counts[-1]}"]


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
    parser.add_argument("--only", type=parse_only, action="extend", metavar="MODEL,DTYPE,BATCH",
                        help="in place of the four rows; may be repeated")
    parser.add_argument("--impl", metavar="NAME,...", help=f"of {', '.join(IMPLEMENTATIONS)}")
    parser.add_argument("--threads", type=parse_counts, metavar="N,...",
                        help="numbers of threads (default: powers of two, and all processors)")
    parser.add_argument("--one-start", action="store_true",
                        help="one process for all numbers of threads; Inductor compiles for any")
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
    starts = len(implementations) * (1 if arguments.one_start else len(counts))
    with Bench(len(cases) * (1 + starts)) as bench:
        points = groups_of(
            lambda case: points_of(bench, turn, case, implementations, counts, arguments.one_start), cases,
            arguments.side_by_side)
    print(table(heads_of(counts), lines_of(points, counts)))
    if arguments.json:
        print(json.dumps({"rows": points, "threads": counts, "machine": machine()}))
    return int(any("error" in point for point in points))


if __name__ == "__main__":
    sys.exit(main())
