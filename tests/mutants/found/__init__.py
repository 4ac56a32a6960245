"""Holes that the search found, and that were closed: a program, and what a second process changed in it.

Each is a program of the corpus, too: what comes close to a hole is searched again.
"""

from mutants.found import classes, names, objects, process
from mutants.found.change import ANOTHER_SEED
from mutants.mutant import Mutant
from mutants.programs import Program

# Name -> (program, old, new).
FOUND = {**classes.FOUND, **names.FOUND, **objects.FOUND, **process.FOUND}

_HEADER = '''import abc
import enum
import os
import sys

import torch
from torch.utils import _pytree as pytree

THIS = sys.modules[__name__]

'''
_MAKE = '''


def make():
    return entry, (torch.linspace(-1, 1, 8),)
'''


def programs():
    return [
        Program(f"found_{name}", {f"found_{name}.py": _text(text)}, f"{name}, found before")
        for name, (text, *_) in FOUND.items()]


def mutants(programs):
    """Of these programs, as they were found."""
    return [_changed(program) for program in programs]


def _changed(program):
    text, *change = FOUND[program.name.removeprefix("found_")]
    if change == [ANOTHER_SEED]:
        return Mutant(None, program, "found before", program.files, other_hashes=True)
    assert text.count(change[0]) == 1, program.name
    return Mutant(None, program, "found before", {program.main: _text(text.replace(*change))})


def _text(text):
    return _HEADER + text + _MAKE
