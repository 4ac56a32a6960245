#!/usr/bin/env python3
"""Writes the figures of README.md, "What it is worth", from the runs in tests/bench/results.

usage: ./dev bench readme

One table for each processor, of the newest PyTorch of which both or either of ./dev bench cpu and warm were
stored; float32 and batch 1, and in a sentence the rest. Then the newest of ./dev bench service and of ./dev demo
remote.
"""

import sys
import textwrap

import store
from figures import ratio, spread
from models import MODELS, TITLES

README = store.ROOT / "README.md"
BEGIN = "<!-- Figures: ./dev bench readme writes what is between these two lines. -->"
END = "<!-- End of figures. -->"
TEXT_COLUMNS = 125
TRACED = "†"
NO_RUNS = "No run is stored yet: `./dev bench cpu --store` and `./dev bench warm --store` make them.\n"

OTHERS = ("eager", "inductor", "inductor-freezing", "zentorch", "onnxruntime", "openvino")
# Bench, figure, what the rows have in common, and each row: its title and the implementation.
SECTIONS = (
    ("cpu", "steady_ms", "a call, ms", (
        ("eager", "eager"), ("torch.compile", "inductor"), ("torch.compile, freezing", "inductor-freezing"),
        ("zentorch, freezing", "zentorch"), ("ONNX Runtime", "onnxruntime"), ("OpenVINO", "openvino"),
        ("**Stoker**", "stoker"))),
    ("cpu", "cold_first_call_s", "first call of the first process, s", (
        ("torch.compile", "inductor"), ("**Stoker**", "stoker"))),
    ("warm", "start_s", "`torch.compile()` and first call of a later process, beyond a call, s", (
        ("torch.compile", "inductor"), ("with caching_precompile", "precompile"),
        ("**Stoker**", "stoker"), ("**Stoker**, `stoker.compile`", "stoker.compile"))),
)


def version_key(version):
    return [int(part) for part in version.partition("+")[0].split(".") if part.isdigit()]


def newest(runs):
    """[{bench: run}], one for each processor class: of its newest PyTorch."""
    by_class = {}
    for run in runs:
        version = version_key(run["run"]["packages"]["torch"])
        versions = by_class.setdefault(run["run"]["processor_class"], {})
        versions.setdefault(tuple(version), {})[run["bench"]] = run
    return [versions[max(versions)] for _, versions in sorted(by_class.items())]


SERVERS = ("stokerd", "nginx", "redis")


def service_table(run):
    """What servers answer."""
    lines = [
        f"| 32 connections | {' | '.join(f'{name}, requests/s | p99, ms' for name in SERVERS)} |",
        f"| --- |{' ---: |' * (2 * len(SERVERS))}"]
    for case in dict.fromkeys(row["case"] for row in run["rows"]):
        found = {row["server"]: row for row in run["rows"] if row["case"] == case}
        cells = [
            f"{found[name]['requests_per_s']:,.0f} | {compact(found[name]['p99_ms'])}" if name in found else "- | -"
            for name in SERVERS]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    text = []
    if crowd := run["stampede"]:
        text.append("{clients:,} clients that ask for one missing key within a second: {compiles} compile, {errors} errors,"
                    " 99% served within {p99_after_compile_ms:.0f} ms of its end."
                    .format(**crowd))
    if idle := run["idle"]:
        text.append("{connections:,} idle connections: {rss_mib:.0f} MiB.".format(**idle))
    return "\n\n".join(["\n".join(lines), *map(wrapped, filter(None, [" ".join(text), f"- {source(run)}"]))]) + "\n"


def remote_table(run):
    """A daemon on another host, and the jobs that it had."""
    lines = [
        f"| {TITLES[run['model']]}, float32, batch 1; the daemon on another host | first call, s | a call, ms | compiles"
        " | captures found |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| a job that {row['job']} | {compact(row['first_call_s'])} | {compact(row['steady_ms'])} | {row['compiles']} |"
        f" {row['captures_found']} |" if not row["said"] else
        f"| a job with a {row['job']}: eager | {compact(row['first_call_s'])} | {compact(row['steady_ms'])} | - | - |"
        for row in run["rows"]]
    text = (f"The daemon is a {run['daemon']}. Each job is on a host of its own (network namespaces), with an empty cache"
            " folder, TLS and a token; one start each. The two that are refused say so in one line and run in eager.")
    return "\n\n".join(["\n".join(lines), wrapped(text), wrapped(f"- {source(run, 'demo')}")]) + "\n"


def compact(value):
    """Three digits that count."""
    decimals = next((n for limit, n in ((100, 0), (10, 1), (1, 2)) if value >= limit), 3)
    return f"{value:.{decimals}f}"


def percent(share):
    return "-" if share is None else f"{100 * share:.0f}%" if share >= 0.01 else "<1%"


def rows_of(run, **wanted):
    """{(model, implementation): row} of the rows with those fields and no error."""
    return {
        (row["model"], row["impl"]): row for row in run["rows"]
        if "error" not in row and all(row.get(key) == value for key, value in wanted.items())}


def figures_of(run, name, implementation):
    """The figure of each model, None where there is none."""
    wanted = {"dtype": "float32", "batch": 1} if run["bench"] == "cpu" else {}
    rows = rows_of(run, **wanted)
    found = [rows.get((model, implementation)) for model in MODELS]
    return [row and row["figures"].get(name) for row in found]


def traced(run, implementation):
    """Of each model, whether a frame was traced."""
    rows = rows_of(run)
    return [bool(rows.get((model, implementation), {}).get("frames_traced")) for model in MODELS]


def section(run, name, common, lines):
    """Rows of a table. A start with caching_precompile that traced a frame all the same has a mark."""
    lead = f"{common}: "
    for title, implementation in lines:
        figures = figures_of(run, name, implementation)
        if not any(figures):
            continue
        marks = [""] * len(figures)
        if name == "start_s" and implementation == "precompile":
            marks = [TRACED if again else "" for again in traced(run, implementation)]
        bold = "**" if title.startswith("**") else ""
        cells = [
            f"{bold}{compact(figure['median'])}{mark}{bold}" if figure else "-"
            for figure, mark in zip(figures, marks)]
        spreads = [spread(figure) for figure in figures]
        widest = max((value for value in spreads if value is not None), default=None)
        samples = [figure["samples"] for figure in figures if figure]
        counted = str(min(samples)) if min(samples) == max(samples) else f"{min(samples)}–{max(samples)}"
        yield f"| {lead}{title} | {' | '.join(cells)} | {percent(widest)} | {counted} |"
        lead = ""


def others_sentence(run):
    """What holds beyond float32 at batch 1, and how exact results are."""
    groups, errors = {}, []
    for row in run["rows"]:
        if "error" in row:
            continue
        figure = row["figures"].get("steady_ms")
        groups.setdefault((row["model"], row["dtype"], row["batch"]), {})[row["impl"]] = (
            figure and figure["median"])
        error = row["figures"].get("rel_err")
        if row["impl"] == "stoker" and row["dtype"] == "float32" and error:
            errors.append(error["max"])
    shares = {True: [], False: []}
    for (_, dtype, batch), times in groups.items():
        best = min((times[name] for name in OTHERS if times.get(name)), default=None)
        share = ratio(times.get("stoker"), best)
        if share:
            shares[dtype == "float32" and batch == 1].append(share)
    sentences = []
    for front, text in ((True, "In this table"), (False, "In bfloat16 and at batch 4")):
        if shares[front]:
            low, high = min(shares[front]), max(shares[front])
            sentences.append(
                f"{text} a call of Stoker takes {low:.2f} to {high:.2f} times what the best of the others"
                " takes.")
    if errors:
        sentences.append(
            f"Results differ from float64 by at most {max(errors):.1e} of their norm in float32.")
    return " ".join(sentences)


def source(run, command="bench"):
    """Where a run was made, with what."""
    about = run["run"]
    packages = about["packages"]
    versions = ", ".join(
        f"{title} {packages[name]}" for title, name in (
            ("PyTorch", "torch"), ("Triton", "triton"), ("ONNX Runtime", "onnxruntime"),
            ("OpenVINO", "openvino"), ("zentorch", "zentorch")) if packages.get(name))
    how = " (the kernel gave nobody AMX tiles: `--without-amx`)" if about.get("without_amx") else ""
    if about.get("side_by_side", 1) > 1:
        how += f" (first calls of {about['side_by_side']} models at once: `--side-by-side`)"
    if about.get("processors"):
        how += f" (calls on {len(about['processors'])} of the cores: `--processors`)"
    dirty = " with changes" if about["dirty"] else ""
    return (f"`./dev {command} {run['bench']}`: {about['processor']} ({about['processor_model']}), "
            f"`{about['target']}`{how}, {about['cores']} cores, {about['threads']} threads; {versions}; "
            f"commit {about['commit'][:10]}{dirty}, {about['date'][:10]}.")


def table_of(runs):
    """The text of one processor's table; `runs` is {bench: run}."""
    lines = [
        f"| float32, batch 1 | {' | '.join(TITLES[model] for model in MODELS)} | spread | samples |",
        f"| --- |{' ---: |' * (len(MODELS) + 2)}"]
    for bench, name, common, rows in SECTIONS:
        if bench in runs:
            lines += section(runs[bench], name, common, rows)
    text = ["\n".join(lines)]
    if "cpu" in runs:
        text.append(others_sentence(runs["cpu"]))
    text.append(
        "Random weights; medians; spread: how far the farther quartile of the samples is from the median, in"
        " the worst cell of the row; each start is a process of its own."
        + (f" {TRACED}: traced again." if any(TRACED in line for line in lines) else ""))
    sources = [f"- {source(run)}" for _, run in sorted(runs.items())]
    return "\n\n".join([*map(wrapped, filter(None, text)), "\n".join(map(wrapped, sources))]) + "\n"


def wrapped(paragraph):
    """A paragraph in lines that can be read; a table as it is."""
    if paragraph.startswith("|"):
        return paragraph
    indent = "  " if paragraph.startswith("- ") else ""
    return textwrap.fill(
        paragraph, TEXT_COLUMNS, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False)


def figures_text(runs):
    own_tables = {"service": service_table, "remote": remote_table}
    tables = [table_of(chosen) for chosen in newest([run for run in runs if run["bench"] not in own_tables])]
    for bench, text_of in own_tables.items():
        stored = [run for run in runs if run["bench"] == bench]
        if stored:
            tables.append(text_of(max(stored, key=lambda run: run["run"]["date"])))
    return "\n".join(tables) or NO_RUNS


def updated(text, runs):
    """README.md's text with the figures of `runs`."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md lacks the line '{BEGIN if not begin else END}'.")
    return f"{before}{begin}\n\n{figures_text(runs)}\n{end}{after}"


def main():
    runs = store.read()
    README.write_text(updated(README.read_text(), runs))
    print(f"{README.name} has the figures of {len(runs)} stored runs.")


if __name__ == "__main__":
    sys.exit(main())
