"""./dev bench sizes: does one artifact for all sizes cost time? BERT-base called with sequences of many distinct lengths, in
random order, beside what is compiled for each length by itself.

usage: sizes.py [--lengths COUNT] [--most LENGTH] [--layers N] [--threads N] [--calls N] [--rounds N] [--seed N] [--processes N]

Each length comes once; its artifact of numbers is compiled then, and the two are called in turns. Times are of the
processors (user and system, of all threads), for others may be using them; the least of the calls of a round counts, and of the
rounds' ratios the median: where a whole machine is now faster and now slower, one round says little. A last line
is of wall-clock time. Prints how many programs there were for all lengths together, and the first call with each
length beside a later one. Exits 1 where that is more than once, or a result differs from eager PyTorch's. With --processes the
lengths are dealt out to as many processes with the same daemon, each on processors of its own.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

from peers import cpuinfo

HELD = 0.10  # By how much a call may take longer than that of the artifact for its length.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", type=int, default=200)
    parser.add_argument("--most", type=int, default=512)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--calls", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args(arguments)


def timed(call):
    """(seconds of the processors, seconds of the clock)."""
    wall, processors = time.perf_counter(), time.process_time()
    call()
    return time.process_time() - processors, time.perf_counter() - wall


def turns(calls, count):
    """Of each call the least (processors' seconds, clock's seconds) of `count`, one after the other."""
    times = [[] for _ in calls]
    for turn in range(count):
        for place in (range(len(calls)) if turn % 2 else reversed(range(len(calls)))):
            times[place].append(timed(calls[place]))
    return [tuple(map(min, zip(*each))) for each in times]


def quantiles(values):
    cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
    return f"median {statistics.median(values):.3f}, 95 % of them below {cuts[18]:.3f}, least {min(values):.3f}, most {max(values):.3f}"


def compiled_models(model):
    """(for all lengths, for each length by itself)."""
    import torch

    import stoker  # noqa: F401: names the backend.
    from stoker.runtime import sizes

    for_all = torch.compile(model, backend="stoker", dynamic=True)
    by_itself = torch.compile(lambda tokens: model(tokens), backend="stoker", dynamic=True)

    def one_length(tokens):
        kept, sizes.MAX_PROGRAMS = sizes.MAX_PROGRAMS, 0
        try:
            return by_itself(tokens)
        finally:
            sizes.MAX_PROGRAMS = kept

    return for_all, one_length


def measure(options, part=0):
    """([(length, error, first call's (processors', clock's) seconds, the least for all, the ratio to that by itself)] of every
    `options.processes`th length from `part`, how many programs there were for all of these)"""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[part::options.processes])
    import torch
    from transformers import BertConfig, BertModel

    import stoker

    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = BertModel(BertConfig(num_hidden_layers=options.layers)).eval()
    for_all, by_itself = compiled_models(model)
    lengths = random.Random(options.seed).sample(range(2, options.most + 1), options.lengths)[part::options.processes]
    rows = []
    with torch.no_grad():
        for length in lengths:
            tokens = torch.randint(0, 30522, (1, length))
            first = timed(lambda: for_all(tokens))
            error = (for_all(tokens)[0] - model(tokens)[0]).abs().max().item()
            by_itself(tokens)
            calls = [lambda: for_all(tokens), lambda: by_itself(tokens)]
            rounds = [turns(calls, options.calls) for _ in range(options.rounds)]
            least = tuple(min(of_all[clock] for of_all, _ in rounds) for clock in (0, 1))
            ratios = tuple(statistics.median(of_all[clock] / by_it[clock] for of_all, by_it in rounds) for clock in (0, 1))
            rows.append((length, error, first, least, ratios))
            print(f"{length:4d}  {least[0] * 1e3:8.2f} ms  {ratios[0]:.3f}", flush=True)
    return rows, len(stoker.compiles()) - len(rows)


def measure_all(options):
    """[measure(...)] of each process."""
    if options.processes == 1:
        return [measure(options)]
    with concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(measure, [options] * options.processes, range(options.processes)))


def main(arguments):
    options = parse(arguments)
    if "STOKER_CACHE_DIR" not in os.environ:
        os.environ["STOKER_CACHE_DIR"] = tempfile.mkdtemp()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{cpuinfo().get('model name', platform.machine())}, commit {commit}, {options.threads} threads, {options.layers} layers, "
          f"{options.lengths} lengths from 2 to {options.most}, {options.processes} processes, "
          f"{options.rounds} rounds of {options.calls} calls\nlength  for all  ratio")
    parts = measure_all(options)
    rows = [row for part, _ in parts for row in part]
    for name, clock in (("processors' time", 0), ("wall-clock time", 1)):
        ratios = [row[4][clock] for row in rows]
        slow = sum(ratio > 1 + HELD for ratio in ratios)
        print(f"{name}, for all over by itself: {quantiles(ratios)}; {slow} of {len(rows)} above {1 + HELD:.2f}")
    firsts = [row[2][0] / row[3][0] for part, _ in parts for row in part[1:]]
    print(f"first call with a length over later ones: {quantiles(firsts)}")
    for_all = max(programs for _, programs in parts)
    print(f"programs for all lengths, in each process: {for_all}; for each by itself: {len(rows)}")
    worst = max(row[1] for row in rows)
    print(f"largest difference from eager: {worst:.1e}")
    return for_all != 1 or worst > 1e-4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
