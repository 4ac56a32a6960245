"""The guards of a capture, checked against a live program.

The first check compares everything by value, import path and digest. What it finds equal is then bound to
the live objects, so that later checks compare objects by identity.
"""

import importlib
import sys
import types
from typing import NamedTuple

from ...base import collector
from ...base.signals import suppressed
from ...pytorch import devices, state
from ...pytorch.marks import COMPILER
from ...pytorch.tensors import are_apart
from ..bytecode.reads import ALL
from ..optimizers.live import Optimizers
from ..premises import (
    checks, constants, environment, facts, imported, members, objects, packages, sameness, trees)
from ..premises.shapes import compile_expressions
from ..words.identity import Describer
from ..words.paths import ROOT, Scope, Unreachable, Values, evaluate, root_of, text
from ..words.values import NotPortable
from . import native
from .bound import compile_check


ALL_HOLD = -1  # What the extension says.


class Failure(NamedTuple):
    """Why a capture does not hold."""

    reason: str  # One of few words, for counting.
    what: str  # Source expression, or what else differs.
    expected: str
    found: str
    where: str = ""  # The user's line that made the guard.

    def __str__(self):
        line = f" ({self.where})" if self.where else ""
        return f"{self.what} is {self.found}, not {self.expected}{line}"


class GuardProgram:
    def __init__(self, record, global_values, plain=None):
        """`plain`: a Describer without names, of the moment of the first check."""
        self._record = record
        self._plain = plain
        self._nodes = record["nodes"]
        self._guards = record["guards"]
        self._globals = global_values
        self._first_shape_failure = compile_expressions(record["shapes"], global_values)
        self._values = None
        self._native = None
        self._describe = None
        words = record["optimizers"]
        self._optimizers = None if words is None else Optimizers(words, self._nodes)
        self.live = None  # An optimizers.live.Live, between a check that held and bind().
        self._describe_later = _KnowsNothing if record["compares_identity"] else lambda: _Later(self._new_describer)

    def first_failure(self, local_values):
        """None if all guards hold."""
        try:
            return self._first_failure(local_values) or self._optimizers_failure(local_values, makes_first_states=True)
        except NotPortable as error:  # What had words has none now.
            return _code_failure(("what code reads", "what it was", str(error)))

    def _first_failure(self, local_values):
        different = state.difference(self._record["state"])
        if different:
            name, expected, found = different
            return Failure("state", f"torch state {name}", str(expected), str(found))
        failure = self._import_missing(local_values)
        if failure is not None:
            return failure
        different = (
            environment.first_difference(self._record["environment"])  # The seed of hashes first: it decides words of others.
            or facts.first_difference(self._record["facts"], self._describe)
            or trees.first_difference(self._record["trees"])
            or _first_untraced_difference(self._record["untraced"])
            or packages.first_difference(self._record["installed"]))
        if different:
            return _code_failure(different)
        self._native = native.program(self._record, self._globals, self._ask)
        if self._native is not None and self._native.first_failure(local_values) == ALL_HOLD:
            failure = self._rest_failure(local_values)
        else:
            failure = self._first_failure_in_python(local_values)
        if failure is not None:
            return failure
        if not self._record["constants"]:
            return None  # What was put off must not be collected now, while the record is held: it takes as long as all this.
        # Last: these are calls of the program's, and none that it makes where other inputs would.
        with collector.as_the_program_has_it():
            different = constants.first_difference(self._record["constants"])
        return _code_failure(different) if different else None

    def _import_missing(self, local_values):
        """What the frame that was recorded imported on its way, if this one, as far as can be told without it, goes the same
        way. Sets what describes from now on: modules may change what they find."""
        self._describe = self._new_describer(self._plain)
        different = imported.first_difference(self._record["imported"])
        if different:
            return _code_failure(different)
        of_frame, of_guards = imported.missing_of(self._record["imported"]), _missing_of(self._nodes)
        if not (of_frame or of_guards):
            return None
        self._values = Values(self._nodes, Scope(local_values, self._globals))
        for guard in self._guards:
            is_known = guard[1] != "same" and root_of(self._nodes, guard[0])[1] != "module"
            if is_known and not self._holds(guard, self._describe):
                return self._failure(guard, self._describe)
        different = imported.import_all(of_frame)
        for name in of_guards:
            with suppressed(ImportError):  # Its guards fail, and name it.
                importlib.import_module(name)
        self._describe = self._new_describer()
        return _code_failure(different) if different else None

    def first_failure_where_recorded(self, local_values):
        """The same in the frame that has just been recorded: its premises were read there a moment ago, and of what is
        not this very object, nothing is known later."""
        self._describe = self._new_describer()
        self._describe_later = _KnowsNothing
        self._native = native.program(self._record, self._globals, self._ask)
        if self._native is None or self._native.first_failure(local_values) != ALL_HOLD:
            failure = self._first_failure_in_python(local_values)
            if failure is not None:
                return failure
        return self._optimizers_failure(local_values, makes_first_states=False)

    def _optimizers_failure(self, local_values, makes_first_states):
        """Last: where all else holds, a trace would make the states that are missing."""
        if self._optimizers is None:
            return None
        values = Values(self._nodes, Scope(local_values, self._globals))
        self.live, different = self._optimizers.look(values, self._describe, makes_first_states)
        return None if different is None else Failure("optimizer", *different)

    def take_over(self):
        """Leaves on a program's tensors what a trace would. After first_failure gave None."""
        if self.live is not None:
            self._optimizers.take_over(self.live)

    def device(self, local_values):
        """The GPU that inputs lie on; the CPU where none lies on one, None where they lie on several: a capture knows no
        numbers."""
        places = [
            place for place, kind, expected, _ in self._guards if kind == "tensor" and expected["device"] != "cpu"]
        held = [] if self.live is None else self.live.described.tensors
        if not places and all(tensor.device == devices.CPU for tensor in held):
            return devices.CPU
        values = self._evaluate(local_values) if places else ()
        found = {values[place].device for place in places} | {
            tensor.device for tensor in held if tensor.device != devices.CPU}
        return found.pop() if len(found) == 1 else None

    def _first_failure_in_python(self, local_values):
        """The reference, and the text of what the extension found."""
        self._values = Values(self._nodes, Scope(local_values, self._globals))
        for guard in self._guards:
            if not self._holds(guard, self._describe):
                return self._failure(guard, self._describe)
        self._values = self._evaluate(local_values)
        return self._relation_failure() or self._rest_failure(local_values)

    def _ask(self, number, value):
        _, kind, expected, _ = self._guards[number]
        return checks.matches(kind, value, expected, self._describe)

    def _holds(self, guard, describe):
        place, kind, expected, _ = guard
        if kind == "same":
            return self._values[place] is self._values[expected]
        return checks.matches(kind, self._values[place], expected, describe)

    def _failure(self, guard, describe):
        place, kind, expected, where = guard
        what = text(self._nodes, place)
        if kind == "same":
            return Failure(
                "sameness", what, text(self._nodes, expected), "another object", where)
        return Failure(
            _REASONS.get(kind, "value"), what, f"{kind} {expected}",
            checks.found_text(kind, self._values[place], describe), where)

    def _relation_failure(self):
        seen = {}
        for place in self._record["distinct"]:
            other = seen.setdefault(id(self._values[place]), place)
            if other != place:
                return Failure(
                    "sameness", text(self._nodes, place), "an object of its own",
                    text(self._nodes, other))
        return None

    def _rest_failure(self, local_values):
        if self._record["apart"] and not _lie_apart(
                self._evaluate(local_values), self._record["distinct"]):
            return Failure("sameness", "inputs", "tensors with memory of their own", "shared memory")
        expression = self._first_shape_failure(local_values)
        if expression is not None:
            return Failure("shape", expression, "true", "false")
        nodes, record, values = self._nodes, self._record, Values(self._nodes, Scope(local_values, self._globals))
        different = (
            objects.first_difference(nodes, record["objects"], self._describe, values)
            or objects.first_tensor_difference(nodes, record["tensors"], self._describe, values)
            or objects.first_kind_difference(nodes, record["kinds"], values)
            or members.first_difference(nodes, record["members"], values))
        if different:
            return Failure("attributes", *different)
        different = sameness.first_difference(nodes, record["identities"], values)
        return Failure("sameness", *different) if different else None

    def _new_describer(self, plain=None):
        names, record = self._record["names"], self._record
        return Describer(
            names if names is ALL else frozenset(names), plain, record["enumerates"], record["orders"], record["lines"])

    def _evaluate(self, local_values):
        return evaluate(self._nodes, Scope(local_values, self._globals))

    def bind(self):
        """After first_failure gave None: a function of the locals that tells whether all still holds."""
        record, first_shape_failure = self._record, self._first_shape_failure
        apart = record["distinct"] if record["apart"] else ()
        has_rest = bool(apart or record["shapes"])
        guards_hold = self._native.holds if self._native is not None else self._bind_in_python()
        # What the first check described may change from now on.
        self._values, self._plain, self._describe = None, None, self._describe_later()
        if self._native is None or not self._native.bind_state(*state.parts()):
            guards_hold = _both(state.watcher(), guards_hold)
        if self.live is not None:
            guards_hold = _both_of_locals(guards_hold, self._optimizers.check(self.live, self._globals))
            self.live = None
        if not has_rest:
            return guards_hold

        def check(local_values):
            return (
                guards_hold(local_values)
                and (not apart or _lie_apart(self._evaluate(local_values), apart))
                and first_shape_failure(local_values) is None)

        return check

    def _bind_in_python(self):
        bound, compiled = [self._values], []

        def guards_hold(local_values):
            if not compiled:  # Not before the second call: a start must not wait for it.
                compiled.append(compile_check(
                    self._nodes, self._guards, self._record["distinct"], bound.pop(), self._globals,
                    self._describe))
            return compiled[0](local_values)

        return guards_hold


def _first_untraced_difference(words):
    if words is None:
        return None
    from ..premises import untraced  # Seldom: others do not wait for it.

    return untraced.first_difference(words)


def _code_failure(different):
    what, expected, found = different
    return Failure("code", what, str(expected), str(found))


class _Later:
    """A Describer that has no words for code and classes: another one is another one in later calls, as Dynamo has it, for
    the premises about it are not looked at again."""

    def __init__(self, new_describer):
        self._new_describer = new_describer

    def __call__(self, value):
        if isinstance(value, (types.CodeType, type)):
            raise NotPortable("another object")
        return self._new_describer()(value)  # Which remembers, and keeps alive, what it has seen.

    def class_words(self, cls):
        raise NotPortable("a class that nobody asked about before")


class _KnowsNothing:
    """A Describer that has words for nothing: no guard holds by words, so that only what is bound is the same."""

    def __call__(self, value):
        raise NotPortable("another object")

    def class_words(self, cls):
        raise NotPortable("a class that nobody asked about before")


def _both(state_unchanged, guards_hold):
    return lambda local_values: state_unchanged() and guards_hold(local_values)


def _both_of_locals(guards_hold, optimizers_hold):
    return lambda local_values: guards_hold(local_values) and optimizers_hold(local_values)


def _lie_apart(values, places):
    """Do these tensors share no memory? A graph that changes an input in place relies on it."""
    return are_apart([values[place] for place in places])


_REASONS = {
    "is": "object", "type": "type", "tensor": "tensor", "length": "length", "keys": "keys",
    "dynamic": "shape", "contains": "keys", "lacks": "keys"}


def _missing_of(nodes):
    """Names of modules that the trace loaded on its way, and that guards look into."""
    return [
        name for parent, step, name in nodes
        if parent == ROOT and step == "module" and name not in sys.modules and not name.startswith(COMPILER)]


__all__ = ["Failure", "GuardProgram", "Unreachable"]
