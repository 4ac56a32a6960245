"""Values that frames read in unusual places, in a new process: as they were, and otherwise."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked

pytestmark = pytest.mark.together
JOB = pathlib.Path(__file__).with_name("values_job.py")
LOCAL = {"of_an_unknown_module"}  # Nothing finds that module in another process.
CHANGES = {
    "of_a_thread": "local.scale = 3",
    "of_an_unknown_module": "configuration.scale = 3",
    "of_an_abstract_class": "Abstract.register(KEYS)",
    "of_an_enumeration": "Choice._member_map_['FIRST'] = Choice.SECOND",
    "of_made_tensors": "FACTORS[0] = 2.5",
}


def start(site, *statement):
    done = subprocess.run([forked.python(), str(JOB), *statement], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = {name: row for name, row in found.items() if row[0] != row[1]}
    assert not wrong, wrong
    return {name for name, row in found.items() if row[2]}, set(found)


def test_a_new_process_gives_what_eager_gives(site):
    hits, everything = start(site)
    assert not hits
    hits, _ = start(site)
    assert hits == everything - LOCAL
    hits, _ = start(site, "; ".join(CHANGES.values()))
    assert hits == everything - set(CHANGES)
