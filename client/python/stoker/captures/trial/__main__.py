"""A trial of this PyTorch's private interfaces: functions of a few lines are traced, recorded and installed again, and
changed in between. Prints a verdict: what does not work, and why, as JSON on a line that begins with MARK.

usage: python -m stoker.captures.trial   (a child process that verdicts.py starts)
"""

import json
import random

import torch

from ...base import tally
from ...pytorch.names import CAPTURES, DIRECT, SIZES
from ..direct import compile as compile_directly
from ..trust.verdicts import MARK
from . import programs

TOLERANCE = 1e-4


def main():
    torch.manual_seed(0)
    verdict = {}
    for feature, run in ((CAPTURES, _try_captures), (SIZES, _try_sizes), (DIRECT, _try_direct)):
        try:
            reason = run()
        except Exception as error:  # Whatever it is: this PyTorch is not as the feature needs it.
            reason = f"a trial ended with {type(error).__name__}: {str(error)[:200]}"
        if reason is not None:
            verdict[feature] = reason
    if CAPTURES in verdict:
        verdict.setdefault(DIRECT, verdict[CAPTURES])
    print(f"\n{MARK}{json.dumps(verdict)}", flush=True)


class _Case:
    """One program, compiled and not. `wrap`: what compiles it."""

    def __init__(self, make, wrap):
        self.program = make(random.random())  # A number of its own: no other trial's capture holds.
        self._wrap = wrap

    def outcome(self):
        """How one start goes: (what was counted, whether the result is right)."""
        torch.compiler.reset()
        before = tally.counters()
        compiled = self._wrap(self.program.function)
        actual = [_flat(compiled(*self.program.arguments())) for _ in range(2)]
        expected = [_flat(self.program.function(*self.program.arguments())) for _ in range(2)]
        counted = {name: count - before.get(name, 0) for name, count in tally.counters().items()}
        return counted, all(map(_are_close, actual, expected))


def _try_captures(make_all=programs.PLAIN, wrap=None):
    wrap = wrap or (lambda function: torch.compile(function, backend="stoker"))
    for make in make_all:
        case = _Case(make, wrap)
        name = make.__name__.lower()
        for expected in ("captures.recorded", "captures.hit"):
            counted, is_right = case.outcome()
            if not is_right:
                return f"a trial of '{name}' gives a wrong result"
            if not counted.get(expected):
                return f"a trial of '{name}' was not {expected.partition('.')[2]}: {_reasons(counted)}"
        for change in case.program.changes():
            with change.made():
                _, is_right = case.outcome()
            if not is_right:
                return f"a trial of '{name}' gives a wrong result after {change.name}"
        counted, is_right = case.outcome()
        if not is_right or not counted.get("captures.hit"):
            return f"a trial of '{name}' is not right again after all changes are undone"
    return None


def _try_sizes():
    return _try_captures(
        programs.SIZED,
        lambda function: torch.compile(function, backend="stoker", dynamic=True))


def _try_direct():
    return _try_captures(programs.PLAIN, compile_directly)


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


if __name__ == "__main__":
    main()
