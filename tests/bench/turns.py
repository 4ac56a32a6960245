"""A start that goes on: it is timed when it is its turn, between the others of its row."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import processors

OTHERS_MATTER = 0.05  # Of the processors' time: beyond it, times are not those of a machine at rest.


class Start:
    """A process whose first line of JSON is its figures, and which answers a number of seconds (and of threads) with a
    list of what each call took in as many."""

    def __init__(self, arguments, environment, timeout_s):
        self._errors = tempfile.TemporaryFile("w+")
        self._timeout_s = timeout_s
        self._process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True)
        self.figures = self._answer()

    @property
    def pid(self):
        return self._process.pid

    def _answer(self):
        """The next line that is JSON, or {"error": ...} where the process ends or takes too long."""
        late = threading.Timer(self._timeout_s, self._process.kill)
        late.start()
        try:
            for line in self._process.stdout:
                with contextlib.suppress(json.JSONDecodeError):  # Libraries print too.
                    return json.loads(line)
        finally:
            late.cancel()
        return self._ended()

    def _ended(self):
        return {"error": self.errors()[-500:] or f"ended with status {self._process.wait()}"}

    def errors(self):
        """What the process has written to its standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def calls_for(self, seconds, threads=""):
        """What each call took, or None where there is an error."""
        if "error" in self.figures:
            return None
        try:
            print(seconds, threads, file=self._process.stdin, flush=True)
            calls = self._answer()
        except BrokenPipeError:
            calls = self._ended()
        if isinstance(calls, list):
            return calls
        self.figures |= calls
        return None

    def take_turn(self, seconds):
        calls = self.calls_for(seconds)
        if calls is not None:
            self.figures.setdefault("steady_samples_s", []).extend(calls)

    def check(self):
        """How far the result of a call is off now counts too."""
        self.calls_for("check")

    def keep_to(self, chosen):
        """Its threads run on these processors alone from now on."""
        if "error" not in self.figures:
            processors.keep_to(self._process.pid, chosen)

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # What it was asked and has not read.
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._errors.close()


def take(starts, turns, seconds):
    """Times all of them in turns: what slows the machine for a while slows each of them. Then asks for one more result
    of each: that of a first call may have come about otherwise than those that were timed. Returns the share of the
    processors' time that others had while calls were timed."""
    pids = [start.pid for start in starts]
    before = Times(pids)
    for _ in range(turns):
        for start in starts:
            start.take_turn(seconds)
    others = Times(pids).others_since(before)
    for start in starts:
        start.check()
    return others


def said_of_others(share):
    """A line where it matters, or None."""
    if share <= OTHERS_MATTER:
        return None
    return f"Others had {100 * share:.0f}% of the processors' time while calls were timed: these are no times of a machine at rest."


class Times:
    """What all processors and some processes have computed until now, in ticks of the kernel's clock."""

    def __init__(self, pids):
        user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
        self.busy = user + nice + system + sum(rest)  # A hypervisor's share among them.
        self.all = self.busy + idle + waiting
        self.own = {pid: _ticks_of(pid) for pid in (*pids, os.getpid())}

    def others_since(self, before):
        own = sum(max(0, ticks - before.own[pid]) for pid, ticks in self.own.items())
        return max(0, self.busy - before.busy - own) / max(1, self.all - before.all)


def _ticks_of(pid):
    """Of a process with its threads; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
