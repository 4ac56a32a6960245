"""What a full run without a failure leaves behind: which installations of PyTorch Stoker was tested with.

client/python/stoker/captures/trust/tested.json holds them, by the digest of each; README.md's table is made from it.
"""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "client" / "python" / "stoker" / "captures" / "trust" / "tested.json"
README = ROOT / "README.md"
BEGIN = "<!-- Tested: ./dev matrix writes what is between these two lines. -->"
END = "<!-- End of tested. -->"

_ASK = """
import json, platform
from stoker.pytorch import installation
print(json.dumps([installation.digest(), installation.version().partition("+")[0], platform.python_version()]))
"""


def identity_of(python):
    """[digest, PyTorch's version, CPython's] of an environment's interpreter."""
    done = subprocess.run(
        [python, "-c", _ASK], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "client" / "python")})
    return json.loads(done.stdout)


def with_entry(record, identity, passed, date):
    """The record with an installation that passed; one of the same versions gives way."""
    digest, torch, python = identity
    kept = {
        key: entry for key, entry in record.items()
        if (entry["torch"], _minor(entry["python"])) != (torch, _minor(python))}
    kept[digest] = {"torch": torch, "python": python, "passed": passed, "date": date}
    return dict(sorted(kept.items(), key=lambda item: _order(item[1])))


def table(record):
    """Markdown lines: versions of PyTorch, and what ran with each."""
    lines = ["| PyTorch | CPython | tests passed | on |", "| --- | --- | ---: | --- |"]
    for entry in sorted(record.values(), key=_order, reverse=True):
        lines.append(
            f"| {entry['torch']} | {entry['python']} | {entry['passed']} | {entry['date']} |")
    return lines


def readme_with(text, record):
    """README's text with the table between its two lines."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *table(record), "", END + after])


def remember(python, passed, date):
    record = with_entry(json.loads(RECORD.read_text()), identity_of(python), passed, date)
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    README.write_text(readme_with(README.read_text(), record))


def _minor(python):
    return python.split(".")[:2]


def _order(entry):
    return [[int(part) for part in entry[name].split(".")] for name in ("torch", "python")]
