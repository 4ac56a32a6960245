#!/usr/bin/env python3
"""How fast Stoker starts and runs four models on this CPU, beside what a user would pick instead.

Question: is a start cheap (cold, and warm in a new process), and is the steady state at the machine's
limit? Peers measured in the same run: eager PyTorch, torch.compile (default, and with freezing), zentorch
on AMD, ONNX Runtime, OpenVINO. float32 and bfloat16, batch 1 and 4, 128 tokens or 224x224 images.
"""

import argparse
import concurrent.futures
import contextlib
import json
import math
import os
import sys

import torch

import peers
import processors
import store
import turns
import without_amx
from figures import ratio
from gate import Gate
from models import MODELS, TITLES
from peak import Peaks, fill_shares
from rows import CACHING, ROW_HEADS, Bench, cell, machine, row_cells, row_of, say, table

DTYPES = ("float32", "bfloat16")
BATCHES = (1, 4)
PYTORCH = ("eager", "inductor", "inductor-freezing", "zentorch")
TURNS, SECONDS_PER_TURN = 8, 0.4
IMPLEMENTATIONS = (*PYTORCH, "onnxruntime", "openvino", "stoker")


def parse_only(text):
    """MODEL,DTYPE,BATCH, any of them empty or * for all."""
    parts = (text.split(",") + ["", ""])[:3]
    model, dtype, batch = ("" if part == "*" else part for part in parts)
    if model and model not in TITLES or dtype and dtype not in DTYPES:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not MODEL,DTYPE,BATCH; models: {', '.join(TITLES)}; dtypes: "
            f"{', '.join(DTYPES)}.")
    return [
        (m, d, b) for d in ([dtype] if dtype else DTYPES) for m in ([model] if model else MODELS)
        for b in ([int(batch)] if batch else BATCHES)]


def applies(implementation, dtype):
    """ONNX Runtime has no bfloat16 on CPUs."""
    return not (implementation == "onnxruntime" and dtype == "bfloat16")


def starts_of(implementation, repeats):
    """How many processes a row takes: a cold start and a warm one, where that makes a difference."""
    return repeats * (2 if implementation in CACHING else 1)


def group_of(bench, turn, kept, model, dtype, batch, implementations, repeats, timed_on):
    """The rows of one model, dtype and batch, each cold start on an empty cache; what was kept is not measured.
    `timed_on`: the processors of timed calls, or None."""
    group = f"{model}-{dtype}-{batch}"
    if rows := kept.read(group):
        return rows
    cases, cold, timed = (model, dtype, batch), {}, {}
    with contextlib.ExitStack() as started:
        with turn.beside_others(begins=True):
            flops = bench.start(*cases, "reference", bench.cache(f"{group}-reference")).get("flops")
        for name in implementations:
            cold[name], timed[name] = [], []
            for cache in (bench.cache(f"{group}-{name}-{number}") for number in range(repeats)):
                with turn.beside_others():
                    if name in CACHING:
                        cold[name].append(bench.start(*cases, name, cache, "cold"))
                    timed[name].append(bench.start_in_turns(*cases, name, cache, "warm" if name in CACHING else ""))
                    started.callback(timed[name][-1].close)
        with turn.alone():
            all_starts = [start for starts in timed.values() for start in starts]
            for start in all_starts if timed_on else []:
                start.keep_to(timed_on)
            others = turns.take(all_starts, TURNS, SECONDS_PER_TURN)
    rows = []
    for name, starts in timed.items():
        last = [start.figures for start in starts]
        rows.append(row_of(*cases, name, *((cold[name], last) if name in CACHING else (last, [])), flops))
        rows[-1]["others_share"] = others
        say(f"    {group}, {name}: {rows[-1].get('error') or cell(rows[-1]['steady_ms'], '.2f') + ' ms'}")
    for number in range(repeats if "stoker" in implementations else 0):
        bench.collect_stats(bench.cache(f"{group}-stoker-{number}"))
        bench.stop_daemon(bench.cache(f"{group}-stoker-{number}"))
    if not any("error" in row for row in rows):
        kept.write(group, rows)
    return rows


def groups_of(measure_group, groups, side_by_side):
    """The rows of all groups; `side_by_side` of them start at once, and are timed one after the other."""
    with concurrent.futures.ThreadPoolExecutor(side_by_side) as pool:
        return [result for rows in pool.map(measure_group, groups) for result in rows]


def best_of(results, names):
    times = [r["steady_ms"] for r in results if r["impl"] in names and r["steady_ms"] and "error" not in r]
    return min(times, default=None)


def print_tables(results, peaks):
    lines = []
    for result in results:
        slowest = result["slowest_kernel"] and (
            f"{result['slowest_kernel']} ({100 * (result['slowest_share'] or 0):.0f}%)")
        lines.append([
            f"{TITLES[result['model']]}, {result['dtype']}, batch {result['batch']}", result["impl"],
            *row_cells(result), cell(result["compile_s"], ".2f"), cell(result["load_s"], ".3f"),
            cell(result["bind_s"], ".2f"), cell(result["kernels_unique"], "d"),
            cell(result["peak_share"] and 100 * result["peak_share"], ".0f"),
            cell(result["peak_rss_mib"], "d"), slowest or "-"])
    print()
    print(table(
        ["model", "", *ROW_HEADS, "compile, s", "load, s", "bind, s", "kernels", "% of peak",
         "RSS, MiB", "costliest kernel"], lines))
    print("\nPeak: " + ", ".join(f"{name} {rate / 1e9:.0f} GF/s" for name, rate in peaks.items()))


def print_ratios(results):
    """Stoker beside the best of the others, row by row."""
    groups = {}
    for result in results:
        groups.setdefault((result["model"], result["dtype"], result["batch"]), []).append(result)
    lines, ratios = [], []
    for (model, dtype, batch), group in groups.items():
        own = best_of(group, ["stoker"])
        torch_best = best_of(group, PYTORCH)
        best = best_of(group, [name for name in IMPLEMENTATIONS if name != "stoker"])
        if not own or not best:
            continue
        ratios.append(best / own)
        by_name = {result["impl"]: result for result in group}
        cold, warm = (
            ratio(by_name["stoker"][key], by_name.get("inductor", {}).get(key))
            for key in ("cold_first_call_s", "warm_first_call_s"))
        lines.append([
            f"{TITLES[model]}, {dtype}, batch {batch}", "", cell(ratio(torch_best, own), ".2f"),
            cell(best / own, ".2f"), cell(cold, ".2f"), cell(warm, ".2f")])
    if lines:
        print("\nSpeed as a multiple of the best PyTorch mode and of the best of all others; first calls"
              " as a share of Inductor's")
        print(table(["model", "", "of PyTorch", "of best", "cold", "warm"], lines))
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nGeometric mean of the multiples of the best: {mean:.2f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=parse_only, metavar="MODEL,DTYPE,BATCH",
                        help="these rows; parts may be empty: gpt2,,1")
    parser.add_argument("--impl", metavar="NAME,...", help=f"of {', '.join(IMPLEMENTATIONS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.add_argument("--starts", type=int, default=1, metavar="N",
                        help="N cold and N warm starts of each row; medians of them (default: 1)")
    parser.add_argument("--without-amx", action="store_true",
                        help="as where the kernel gives nobody AMX tiles, neither Stoker nor its peers")
    parser.add_argument("--threads", type=int, metavar="N", help="of each process (default: PyTorch's)")
    parser.add_argument("--side-by-side", type=int, default=1, metavar="N",
                        help="start N models at once: first calls wait for each other, and are slower; each is timed"
                             " while no other computes (default: 1)")
    parser.add_argument("--processors", type=processors.parse, metavar="LIST",
                        help="time calls on these processors alone, one of each core (processors.py N finds them)")
    parser.add_argument("--keep", metavar="FOLDER",
                        help="keep what is measured there, and go on from what a run of this commit kept")
    store.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.without_amx:
        without_amx.refuse()
    absent = peers.absent()
    chosen = arguments.impl.split(",") if arguments.impl else [
        name for name in IMPLEMENTATIONS if name not in absent]
    if unknown := set(chosen) - set(IMPLEMENTATIONS):
        parser.error(f"no implementation {', '.join(sorted(unknown))}")
    if impossible := set(chosen) & set(absent):
        parser.error(" ".join(absent[name] for name in sorted(impossible)))
    store.check_arguments(parser, arguments, whole=not arguments.only and not arguments.impl)
    groups = [
        (*key, [name for name in chosen if applies(name, key[1])])
        for key in arguments.only or parse_only("")]
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
        os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    run = {**store.conditions(torch.get_num_threads()), "without_amx": arguments.without_amx,
           "side_by_side": arguments.side_by_side, "processors": arguments.processors}
    kept = store.Kept(arguments.keep, {**run, "starts": arguments.starts, "of": chosen})
    say(f"{machine()}, {run['threads']} threads, {run['target']}, PyTorch {torch.__version__}")
    for why in absent.values():
        say(why)
    processes = sum(
        1 + sum(starts_of(name, arguments.starts) for name in names) for *_, names in groups)
    peaks = Peaks(run["threads"], "amx_bf16" in run["target"], kept.read("peaks"))

    def measure_peaks():
        peaks.measure()
        kept.write("peaks", peaks.rates)

    turn = Gate()

    def measure_group(group):
        rows = group_of(bench, turn, kept, *group, arguments.starts, arguments.processors)
        if arguments.side_by_side == 1:  # Beside others a thread has no core for itself.
            measure_peaks()
        return rows

    measure_peaks()
    with Bench(processes) as bench:
        results = groups_of(measure_group, groups, arguments.side_by_side)
    measure_peaks()
    if faster := fill_shares(results, peaks.rates):
        say(f"{faster} rows have no share of the peak: they are faster, the machine was slower whenever"
            " its peak was measured.")
    print_tables(results, peaks.rates)
    print_ratios(results)
    if told := turns.said_of_others(max(result["others_share"] for result in results)):
        print(told)
    if arguments.store:
        say(f"Stored: {store.write('cpu', run, results, peak_flops=peaks.rates)}")
    if arguments.json:
        print(json.dumps({
            "rows": results, "stats": bench.stats, "peak_flops": peaks.rates,
            "machine": machine()}))
    return int(any("error" in result for result in results))


if __name__ == "__main__":
    sys.exit(main())
