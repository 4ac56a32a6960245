"""What later checks look at is put on huge pages, in a process of its own: others' memory may lie on some already."""

import ctypes
import mmap
import os
import pathlib
import subprocess
import sys

import pytest

from stoker.captures.check import native

_COLLAPSE = 25  # MADV_COLLAPSE of Linux 6.1.
_HUGE_PAGE = 2 << 20
_ENABLED = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")

_JOB = """
import pathlib, sys, time
import torch
from test_guard_watch import Guarded

def huge_kib():
    for line in pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("AnonHugePages:"):
            return int(line.split()[1])

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(1000):
            setattr(self, f"layer{i}", torch.nn.Linear(2, 2))

model = Model()
guarded = Guarded(self=model)
modules = guarded.paths.add(guarded.roots["self"], "attr", "_modules")
for name in model._modules:
    layer = guarded.paths.add(modules, "item", name)
    guarded.add(guarded.paths.add(layer, "attr", "in_features"), "equals", 2)
before = huge_kib()
guarded.warm()
for _ in range(600):
    if huge_kib() > before:
        break
    time.sleep(0.05)
for name, layer in model._modules.items():
    assert layer.in_features == 2 and torch.equal(layer(layer.weight), layer(layer.weight)), name
assert guarded.holds()
model.layer999.in_features = 3
assert not guarded.holds()
print(huge_kib() - before)
"""


def collapses():
    """Does this system put memory that is there on huge pages?"""
    if not _ENABLED.exists() or "[never]" in _ENABLED.read_text():
        return False
    with mmap.mmap(-1, 2 * _HUGE_PAGE, flags=mmap.MAP_PRIVATE) as memory:
        memory.write(b"1" * len(memory))
        first = ctypes.addressof(view := ctypes.c_char.from_buffer(memory))
        del view
        start = (first + _HUGE_PAGE - 1) // _HUGE_PAGE * _HUGE_PAGE
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        return madvise(start, _HUGE_PAGE, _COLLAPSE) == 0


@pytest.mark.alone
@pytest.mark.skipif(native.extension() is None, reason="stoker_guards is not built")
@pytest.mark.skipif(sys.version_info[:3] == (3, 13, 0), reason="3.13.0 does not tell of all changes")
@pytest.mark.skipif(not collapses(), reason="the system has no huge pages to give")
def test_watch_objects_of_many_layers_lie_on_huge_pages():
    here = str(pathlib.Path(__file__).parent)
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [environment.get("PYTHONPATH")])])
    job = subprocess.run(
        [sys.executable, "-c", _JOB], env=environment, capture_output=True, text=True, timeout=300)
    assert job.returncode == 0, job.stderr
    assert int(job.stdout) >= _HUGE_PAGE // 1024
