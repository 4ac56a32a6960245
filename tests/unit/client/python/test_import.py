"""Importing the package is cheap: torch.compile looks it up in every process that has it installed."""

import subprocess
import sys


def test_import_brings_in_neither_pytorch_nor_the_library():
    script = "import sys, stoker; print([m for m in ('torch', 'ctypes') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_name_is_registered():
    from importlib.metadata import entry_points

    entry, = entry_points(group="torch_dynamo_backends", name="stoker")
    assert entry.value == "stoker.backend:stoker"
