"""Records every program, starts its mutants, and says what came out."""

import collections
import copy
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from mutants import live
from mutants import mutant as mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"
RECORD_LIMIT_S = 240
LIMIT_S = 20
WARM_SHARE = 0.9  # Of the mutants that touch nothing.

_MAX_REASON = 300
_WRONG = ("WRONG", "broken")


class _Server:
    """server.py, one task at a time."""

    def __init__(self, env, hash_seed, modules):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutants.server", *modules], env={**env, "PYTHONHASHSEED": hash_seed},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, task):
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class _Servers:
    """As many as are asked at a time."""

    def __init__(self, *arguments):
        self._arguments = arguments
        self._idle, self._all = [], []
        self._lock = threading.Lock()

    def ask(self, task):
        with self._lock:
            server = self._idle.pop() if self._idle else None
        if server is None:
            server = _Server(*self._arguments)
            with self._lock:
                self._all.append(server)
        try:
            return server.ask(task)
        finally:
            with self._lock:
                self._idle.append(server)

    def close(self):
        for server in self._all:
            server.close()


class Search:
    def __init__(self, programs, seed, trace=False, jobs=2, modules=(), options=""):
        """`modules`: that servers import before they fork; `options`: of the command line, with which a mutant is found
        again."""
        self._programs, self._seed, self._trace, self._jobs = programs, seed, trace, jobs
        self._options, self._is_blind = options, False
        self._folder = tempfile.TemporaryDirectory(prefix="stoker-mutants-")
        self._numbers = itertools.count()
        self._env = dict(
            os.environ, STOKER_URL=f"unix:{self._folder.name}/stokerd.sock", STOKER_CAPTURES="trial",
            STOKER_ANSWER_TIMEOUT_MS="300000",
            STOKER_LIBRARY=str(BUILD / "lib" / "libstoker.so"), OMP_NUM_THREADS="1",
            PYTHONPATH=f"{ROOT / 'client' / 'python'}{os.pathsep}{ROOT / 'tests'}")
        for name in ("STOKER_NAMESPACE", "STOKER_LOG"):
            self._env.pop(name, None)
        self._servers = {hash_seed: _Servers(self._env, hash_seed, modules) for hash_seed in ("1", "2")}
        self.outcomes = []  # (mutant, outcome, detail)
        self._reasons = {}  # Program that was recorded -> why it does not start warm, or None.
        self._started = time.monotonic()

    def __enter__(self):
        self._daemon = subprocess.Popen([
            str(BUILD / "bin" / "stokerd"), "--cache-dir", f"{self._folder.name}/cache", "--listen",
            self._env["STOKER_URL"], "--log-level", "off", "--idle-timeout-s", str(RECORD_LIMIT_S)])
        return self

    def __exit__(self, *_):
        for servers in self._servers.values():
            servers.close()
        self._daemon.terminate()
        self._daemon.wait()
        self._folder.cleanup()

    def blinded(self):
        """The same, without outcomes yet, where starts see no change of a program: what it finds then, it can find."""
        other = copy.copy(self)
        other.outcomes, other._is_blind = [], True
        return other

    def run(self, numbers):
        """Mutants of programs without a capture that holds for themselves are left out, and the programs named."""
        self.start(filter(None, (mutants.choose(self._programs, self._seed, number) for number in numbers)))

    def start(self, chosen):
        """The same of these."""
        chosen = list(chosen)
        new = [program for program in dict.fromkeys(each.program for each in chosen) if program not in self._reasons]
        self._reasons.update(zip(new, self._each(self._record_one, new)))
        self.outcomes += self._each(self._run_one, [each for each in chosen if not self._reasons[each.program]])

    @property
    def never_warm(self):
        """Program -> why."""
        return {program: reason for program, reason in self._reasons.items() if reason}

    def _each(self, function, items):
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as threads:
            return list(threads.map(function, items))

    def _ask(self, do, program, files, limit_s=LIMIT_S, hash_seed="1", **more):
        folder = f"{self._folder.name}/{next(self._numbers)}"
        program.write(folder, files)
        return self._servers[hash_seed].ask({
            "do": do, "folder": folder, "module": program.name, "limit_s": limit_s,
            "is_blind": self._is_blind, "ranks": program.ranks, **more,
            "variables": {"STOKER_NAMESPACE": f"p{self._programs.index(program)}", **more.get("variables", {})}})

    def _record_one(self, program):
        answer = self._ask("record", program, program.files, RECORD_LIMIT_S)
        if answer["outcome"] != "recorded" or answer["different"] or answer["broken"]:
            return json.dumps(answer)
        again = self._ask("warm", program, program.files, kept=self._kept())
        return None if again["outcome"] == "warm" and not again["different"] else json.dumps(again)

    def _kept(self):
        return f"{self._folder.name}/{next(self._numbers)}.result"

    def _run_one(self, mutant):
        if isinstance(mutant, live.Calls):
            return self._run_calls(mutant)
        kept = self._kept()
        answer = self._start("warm", mutant, kept=kept, trace=self._trace)
        outcome, detail = answer["outcome"], answer.get("detail", "")
        if answer.get("different") and (outcome == "warm" or self._trace):  # Without a capture, PyTorch's own.
            outcome, detail = self._confirm(mutant, kept, answer)
        return mutant, outcome, detail

    def run_calls(self, numbers):
        """Changes of live objects (live.py) in programs that start warm."""
        self.start(live.choose(self._programs, self._seed, number) for number in numbers)

    def _run_calls(self, mutant):
        def ask(by):
            return self._ask("calls", mutant.program, mutant.program.files, changes=mutant.changes, by=by)

        answer = ask("stoker")
        outcome = answer["outcome"]
        if outcome != "differs":
            return mutant, outcome, answer.get("detail", "")
        # The program may count its calls, and PyTorch trusts that some things stay.
        if ask("nobody")["outcome"] == "differs":
            outcome = "eager differs"
        else:
            outcome = "as PyTorch" if ask("pytorch")["outcome"] == "differs" else "WRONG"
        return mutant, outcome, f"{answer['different']} after {answer['detail']}"

    def _start(self, do, mutant, **more):
        return self._ask(
            do, mutant.program, mutant.files, hash_seed="2" if mutant.other_hashes else "1", variables=mutant.variables,
            ranks=mutant.program.ranks if mutant.ranks == () else mutant.ranks, **more)

    def _confirm(self, mutant, kept, answer):
        """Eager ran in the same process, behind it: is it the same alone, and twice? And is a trace right?"""
        first = self._start("eager", mutant, kept=(one := self._kept()), others=[kept])
        second = self._start("eager", mutant, kept=self._kept(), others=[one, kept])
        if first["outcome"] != "eager" or second["outcome"] != "eager":
            return "eager fails", first.get("detail", "")
        if second["differences"][0]:
            return "eager differs", second["differences"][0]
        different = second["differences"][1]
        if not different:
            return answer["outcome"], answer["detail"]
        traced = self._start("traced", mutant, kept=kept)
        is_other = answer["outcome"] != "warm" or traced["outcome"] != "traced" or traced["different"]
        return "WRONG" if is_other else "as traced", f"{different} ({answer['outcome']}: {answer['detail']})"

    def list(self, out):
        """One line a mutant."""
        for mutant, outcome, detail in self.outcomes:
            print(
                f"{mutant.number or '':6} {str(mutant.program):30} {mutant.kind:40} {outcome:15} {detail[-160:]!r}",
                file=out)

    def report(self, out):
        """Prints, and gives the exit status."""
        for program, reason in self.never_warm.items():
            if not program.title:  # One of the corpus ought to be.
                print(f"never warm: {program}: {reason}"[:_MAX_REASON], file=out)
        kinds = {}
        for mutant, outcome, _ in self.outcomes:
            kinds.setdefault(mutant.kind, collections.Counter())[outcome] += 1
        sums = sum(kinds.values(), collections.Counter())
        columns = sorted(sums)
        print(f"{'kind':45}" + "".join(f"{name:>15}" for name in columns), file=out)
        for kind, counts in [*sorted(kinds.items()), ("all", sums)]:
            print(f"{kind:45}" + "".join(f"{counts[name]:15}" for name in columns), file=out)
        self._report_wrong(out)
        share = self.warm_share()
        if share is not None:
            wanted = "" if share >= WARM_SHARE else f", fewer than {WARM_SHARE:.0%}"
            print(f"{share:.1%} of the mutants that touch nothing start warm{wanted}.", file=out)
        seconds = time.monotonic() - self._started
        print(f"{len(self.outcomes)} mutants of seed {self._seed}, {seconds:.0f} s, "
              f"{len(self.wrong())} wrong.", file=out)
        return int(bool(self.wrong()))

    def wrong(self):
        return [each for each in self.outcomes if each[1] in _WRONG]

    def warm_share(self):
        """Of the mutants of the corpus that touch nothing; None without any."""
        outcomes = [
            outcome for mutant, outcome, _ in self.outcomes
            if mutant.kind.startswith(mutants.INDIFFERENT) and outcome in ("warm", "retraced")
            and not mutant.program.title]  # Of the corpus: other programs may read anything.
        return outcomes.count("warm") / len(outcomes) if outcomes else None

    def _again(self, mutant):
        """How to see it again."""
        if mutant.number is None:
            return ""
        return f": {self._options}--seed {self._seed} --only {mutant.number}"

    def _report_wrong(self, out):
        for mutant, outcome, detail in self.wrong():
            print(f"\n{outcome}: {mutant.program}, {mutant.kind}{self._again(mutant)}", file=out)
            for line in mutant.diff():
                print(f"    {line}", file=out)
            print(f"  {detail}", file=out)
