"""Loaded: an executable of libstoker, whatever it runs on."""

import ctypes
import json

from ..base import tally
from ..libstoker import library
from ..libstoker.client import report
from .host_calls import HostCalls
from .kept_calls import KeptCalls
from .profiling import collectors


def cannot_start_over(error):
    """What is raised in place of a StokerError, for which a graph runs in eager from its start, where inputs are gone or may have changed."""
    return RuntimeError(
        f"A compiled graph failed after it had let go of what it was given, or written to it, so that it cannot run in eager: {error}")


def shares_memory(error):
    """Has libstoker refused a call in which an input that it updates shares memory with another one?"""
    return error.code == library.FAILED_PRECONDITION and ", which the call updates, shares memory with input " in str(error)


class _Handle:
    """libstoker's handle, freed when its executable cannot be reached any more. A `__del__` of the executable itself
    would be too early: while that runs, weak references still give the executable to other threads."""

    def __init__(self, handle):
        self._as_parameter_ = handle  # What ctypes passes.
        self._free = library.load().stoker_executable_free

    def __del__(self):
        self._free(self)


class Loaded:
    """`verifies`: libstoker compares the first call with the interpreter."""

    def __init__(self, handle, device, verifies=False):
        self.device = device
        self._verifies = verifies
        self.library = library.load()
        self.handle = _Handle(handle)  # What libstoker takes.
        described = self.describe()
        self.host = self._make_host(described["host_calls"])
        # When its plan comes to what a call brings: numbers of steps.
        self.last_of_inputs, self.first_of_outputs = described["last_of_inputs"], described["first_of_outputs"]
        self.steps = 1 + max((*self.last_of_inputs, *self.first_of_outputs), default=-1)  # But for what comes after all these.

    def describe(self):
        return json.loads(
            library.take_text(self.library.stoker_executable_describe, self.handle))

    @property
    def verifies(self):
        """Is the next call compared with the interpreter?"""
        return self._verifies

    def _make_host(self, described):
        """None where the plan has none."""
        if not described:
            return None
        host = HostCalls(described, self.device, KeptCalls(self.library, self.handle))
        self.library.stoker_executable_set_host(self.handle, host.function, None)
        return host

    @property
    def calls_host(self):
        return self.host is not None

    def run_once(self, arguments, turns=()):
        """`arguments`: what stoker_executable_run takes after the executable; `turns`: what stoker_executable_run_in_turns takes
        besides."""
        if self.host is not None:
            self.host.begin()
        if turns:
            status = self.library.stoker_executable_run_in_turns(self.handle, *arguments, *turns)
        else:
            status = self.library.stoker_executable_run(self.handle, *arguments)
        if self._verifies:
            self._count_verification()
        if status or self.host is not None:
            self._check(status)

    def _check(self, status):
        """Raises what kept a run from its end: what an operator raised is the job's own."""
        error = None
        try:
            library.check(status)
        except library.StokerError as failure:
            error = failure
        if self.host is not None:
            error = self.host.error_of(error)
        if error is not None:
            raise error

    def _count_verification(self):
        outcome = self.describe()["verification"]
        if outcome == "pending":
            return  # The call failed for another reason.
        self._verifies = False
        tally.count(f"artifacts_{outcome}")
        report({f"artifacts_{outcome}": 1})

    def profile(self, arguments):
        text = ctypes.c_void_p()
        if self.host is not None:
            self.host.begin()
        self._check(self.library.stoker_executable_profile(self.handle, *arguments, ctypes.byref(text)))
        launches = json.loads(library.taken(text))
        for collector in collectors:
            collector.extend(launches)
