"""Functions of a few lines are traced, recorded and installed again, and changed in between: what does not work, and
why.
"""

import random

import torch

from ...base.signals import let_through
from ...base import tally
from ...pytorch.names import CAPTURES, DIRECT, OPTIMIZERS, SIZES, TRAINING
from ..direct import compile as compile_directly
from ..install import frames
from . import programs

TOLERANCE = 1e-4
_TRACED = 1  # Changes of a program that are traced, so that it has several captures.


def verdict():
    """Feature -> why it does not work here; features that work are not in it."""
    torch.manual_seed(0)
    found = {}
    cases = [_Case(make) for make in programs.PLAIN]
    for feature, run in (
            (CAPTURES, lambda: _why_not(cases, _through_dynamo)), (SIZES, _why_no_sizes),
            (TRAINING, _why_no_training), (OPTIMIZERS, _why_no_optimizers),
            (DIRECT, lambda: _why_not_directly(cases))):
        try:
            reason = run()
        except Exception as error:  # Whatever it is: this PyTorch is not as the feature needs it.
            let_through(error)
            reason = f"a trial ended with {type(error).__name__}: {str(error)[:200]}"
        if reason is not None:
            found[feature] = reason
    if CAPTURES in found:
        found.setdefault(DIRECT, found[CAPTURES])
    return found


class _Case:
    """One program, compiled and not."""

    def __init__(self, make):
        self.program = make(random.random())  # A number of its own: no other trial's capture holds.

    def outcome(self, compile, is_traced=True):
        """How one start goes: (what was counted, whether the result is right). Unless is_traced, one that no capture
        holds for is right: nothing was served."""
        torch.compiler.reset()
        before = tally.counters()
        compiled = compile(self.program.function)
        try:
            with frames.stopping_at_misses(lambda: not is_traced):
                actual = [_flat(programs.call(self.program, compiled)) for _ in range(2)]
        except frames.Missed:
            return _since(before), True
        expected = [_flat(programs.call(self.program, self.program.function)) for _ in range(2)]
        return _since(before), all(_are_close(*each) for each in zip(actual, expected))


def _since(before):
    return {name: count - before.get(name, 0) for name, count in tally.counters().items()}


def _through_dynamo(function):
    return torch.compile(function, backend="stoker")


def _with_sizes(function):
    return torch.compile(function, backend="stoker", dynamic=True)


def _why_not(cases, compile, starts=("captures.recorded", "captures.hit")):
    """`starts`: what is to be counted in the first ones of each case."""
    for case in cases:
        name = type(case.program).__name__.lower()
        for expected in starts:
            counted, is_right = case.outcome(compile)
            if not is_right:
                return f"a trial of '{name}' gives a wrong result"
            if not counted.get(expected):
                return f"a trial of '{name}' was not {expected.partition('.')[2]}: {_reasons(counted)}"
        for number, change in enumerate(case.program.changes()):
            with change.made():
                _, is_right = case.outcome(compile, is_traced=number < _TRACED)
            if not is_right:
                return f"a trial of '{name}' gives a wrong result after {change.name}"
        counted, is_right = case.outcome(compile)
        if not is_right or not counted.get("captures.hit"):
            return f"a trial of '{name}' is not right again after all changes are undone"
    return None


def _why_no_sizes():
    return _why_not([_Case(make) for make in programs.SIZED], _with_sizes)


def _why_no_training():
    return _why_not([_Case(make) for make in programs.TRAINED], _through_dynamo)


def _why_no_optimizers():
    return _why_not([_Case(make) for make in programs.OPTIMIZED], _through_dynamo)


def _why_not_directly(recorded):
    """From what torch.compile recorded, and from what it records itself."""
    return (
        _why_not(recorded, compile_directly, starts=("captures.hit",))
        or _why_not([_Case(programs.Aliases)], compile_directly))


def _reasons(counted):
    return ", ".join(sorted(name for name, count in counted.items() if count and "captures" in name)) or (
        "nothing was counted")


def _flat(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().double()]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _flat(item)]


def _are_close(actual, expected):
    return len(actual) == len(expected) and all(
        one.shape == other.shape and torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
        for one, other in zip(actual, expected))
