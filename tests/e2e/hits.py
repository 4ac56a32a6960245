"""A job that prints what compared.py finds, in a process of its own."""

import json
import subprocess

from e2e import forked


def start(site, job, *arguments):
    """Names of the functions that started warm. All give what eager gives."""
    done = subprocess.run(
        [forked.python(), str(job), *map(str, arguments)], env={**site.env, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "a bug in Stoker" not in done.stderr, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = {name: row for name, row in found.items() if row[0] != row[1]}
    assert not wrong, wrong
    return {name for name, row in found.items() if row[2]}
