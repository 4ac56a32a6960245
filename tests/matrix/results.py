"""What the tests of each row gave, by groups: counts, one table, one JSON file."""

import json
import xml.etree.ElementTree

import count

# Group -> files or folders of tests. What takes longest comes first, so that no processor waits for it.
GROUPS = {
    "warm starts": [
        "e2e/test_warm_table.py", "e2e/test_capture_faults.py", "e2e/test_warm.py", "e2e/test_warm_training.py"],
    "models": ["e2e/test_models.py"],
    "training": ["e2e/test_training.py"],
    "operators": ["e2e/test_op_samples.py"],
    "mapping": ["conformance/torch"],
    "frontend": ["unit/client/python"],
}


def group_of(classname):
    """The group of a JUnit case, whose class name is its file's path with dots."""
    for group, paths in GROUPS.items():
        for path in paths:
            module = path.removesuffix(".py").replace("/", ".")
            if classname == module or classname.startswith(module + "."):
                return group
    return None


def by_group(report):
    """{group: {"passed", "failed", "skipped", "seconds"}} of a JUnit file; empty if it cannot be read."""
    found = {}
    try:
        cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return found
    for case in cases:
        group = group_of(case.get("classname") or case.get("name"))
        counts = found.setdefault(group, {"passed": 0, "failed": 0, "skipped": 0, "seconds": 0.0})
        counts[count.outcome(case)] += 1
        counts["seconds"] += float(case.get("time", 0))
    return found


def cell(counts):
    if counts is None:
        return "-"
    return "{passed}/{failed}/{skipped}, {seconds:.0f} s".format(**counts)


def table(rows):
    """Lines of text for [(name, groups, seconds)]; seconds are those of the clock."""
    columns = [group for group in GROUPS if any(group in groups for _, groups, _ in rows)]
    lines = [["passed/failed/skipped", *columns, "all"]]
    for name, groups, seconds in rows:
        total = {
            "seconds": seconds,
            **{key: sum(counts[key] for counts in groups.values()) for key in ("passed", "failed", "skipped")}}
        lines.append([name, *(cell(groups.get(group)) for group in columns), cell(total)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines]


def remember(path, entries):
    """Writes entries to the JSON file, in place of those of the same versions, beside the others."""
    def identity(entry):
        return entry["version"], entry["python"]

    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError):
        before = []
    kept = {identity(entry): entry for entry in [*before, *entries]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([kept[key] for key in sorted(kept)], indent=1) + "\n")
