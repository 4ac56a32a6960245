#!/usr/bin/env python3
"""What Stoker does for three models, beside eager PyTorch and torch.compile's own compiler.

Each model is compiled through a daemon in one process and started again in the next. Ends with a table and
`stoker stats`; with --json the last line is one JSON object of both.
"""

import argparse
import json
import sys

from models import TITLES
from rows import ROW_HEADS, Bench, machine, row, row_cells, say, table

MODELS = ("gpt2", "bert", "resnet18")
IMPLEMENTATIONS = ("eager", "inductor", "stoker")
STARTS_PER_MODEL = 6  # The reference, eager, and two starts of each compiler.


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    arguments = parser.parse_args()
    say(f"{machine()}; random weights, nothing is downloaded")
    with Bench(STARTS_PER_MODEL * len(MODELS)) as bench:
        cache = bench.cache("demo")
        results = []
        for model in MODELS:
            bench.start(model, "float32", 1, "reference", cache)
            results += [
                row(bench, model, "float32", 1, name, [cache]) for name in IMPLEMENTATIONS]
        bench.collect_stats(cache)
        statistics = bench.command(cache, "stats")
    lines = [[TITLES[result["model"]], result["impl"], *row_cells(result)] for result in results]
    print()
    print(table(["float32, batch 1", "", *ROW_HEADS], lines))
    print("\nError: distance from eager PyTorch in float64, relative. Warm: a new process.\n")
    print("$ stoker stats")
    print(statistics.rstrip())
    if arguments.json:
        print(json.dumps({"rows": results, "stats": bench.stats}))
    return int(any("error" in result for result in results))


if __name__ == "__main__":
    sys.exit(main())
