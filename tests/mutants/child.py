"""What a forked child does with one task, a program in a folder: {"do", "folder", "module", "limit_s", ...}.

record   compile it, with captures, and compare with eager
warm     start it from a capture; where none holds, say so, and trace only if the task says "trace"
traced   compile it without captures, and compare with what an earlier child kept
calls    change live objects between calls; compile "by" stoker, pytorch or nobody
eager    run it without a compiler, and compare with what an earlier child kept
"""

import copy
import importlib
import json
import os
import sys
import traceback

import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

from mutants import blind, live, results
from stoker.base.log import logger
from stoker.captures.check import native
from stoker.captures.install import frames
from stoker.captures.store import frontend, store
from stoker.captures.trust import features
from stoker.captures.words import installed
from stoker.libstoker import library
from stoker.pytorch import installation

SITE = "site"  # The folder of a program that stands for installed packages.
_MAX_DETAIL = 600


def prepare():
    """What every child would do again."""
    installation.digest()
    frontend.digest()
    features.is_trusted()
    library.load()
    native.extension()
    torch.compile(prepare, backend="stoker")  # It is not called; what that imports is there.


def run(task, answers):
    """Answers on a file descriptor, and ends the process."""
    os.dup2(1, 2)  # Warnings are the program's.
    if task["is_blind"]:
        blind.make_blind()
    try:
        answer = _TASKS[task["do"]](task)
    except BaseException:
        answer = {"outcome": "failed", "detail": traceback.format_exc()[-_MAX_DETAIL:]}
    try:
        os.write(answers, json.dumps(answer).encode())
    finally:
        os._exit(0)


class _Starts:
    """How frames started, in place of the daemon's notes."""

    def __init__(self):
        self.notes = []
        self.said = []
        store.note = self._note
        logger.handlers = []
        logger.propagate = False
        logger.warning = lambda message, *arguments: self.said.append(message % arguments if arguments else message)

    def _note(self, entry, outcome, reason="", detail=""):
        self.notes.append((outcome, reason, detail))

    @property
    def are_hits(self):
        return any(outcome == "hit" for outcome, _, _ in self.notes)

    def text(self):
        return "; ".join(": ".join(filter(None, note)) for note in self.notes)[:_MAX_DETAIL]

    def is_broken(self):
        """Did Stoker say that it met a bug of its own, or refuse what it had recorded itself?"""
        return any("bug" in text or "refused" in text for text in self.said)


def load(task):
    """The program's module, fresh in this process."""
    folder = task["folder"]
    sys.path.insert(0, folder)
    site = os.path.join(folder, SITE)
    if os.path.isdir(site):
        sys.path.insert(0, site)
        installed._FOLDERS = (*installed._FOLDERS, site)
    for name, value in task.get("variables", {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if task["ranks"]:
        _join(*task["ranks"])
    sys.dont_write_bytecode = True
    return importlib.import_module(task["module"])


def _join(rank, ranks):
    """A group of ranks of which there is this one: what others give is what this one has."""
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)


def made(module):
    """(entry, arguments): the same ones each time."""
    torch.manual_seed(0)
    return module.make()


def _call(entry, arguments):
    with torch.no_grad():
        return results.of(lambda: entry(*arguments))


def _eager(module):
    return _call(*made(module))


def _compiled_entry(module):
    entry, arguments = made(module)
    return torch.compile(entry, backend="stoker"), arguments


def _record(task):
    starts = _Starts()
    module = load(task)
    found, expected = _call(*_compiled_entry(module)), _eager(module)
    different = results.difference(expected, found)
    return {
        "outcome": "recorded" if starts.notes and starts.notes[-1][0] == "recorded" else "local",
        "different": different, "detail": starts.text(), "broken": starts.said if starts.is_broken() else []}


def _warm(task):
    starts = _Starts()
    _read_only_store()
    return _until_a_miss(
        lambda: _started_warm(task, starts), starts, lambda: not task.get("trace") and not starts.are_hits)


def _started_warm(task, starts):
    try:
        module = load(task)
        compiled, arguments = _compiled_entry(module)
    except Exception as error:
        return {"outcome": "not a program", "detail": repr(error)[:_MAX_DETAIL]}
    found = _call(compiled, arguments)
    if starts.is_broken():
        return {"outcome": "broken", "detail": "; ".join(starts.said)[:_MAX_DETAIL]}
    different = results.difference(_eager(module), found)
    outcome = "warm" if starts.are_hits else "retraced"
    if different:
        results.save(found, task["kept"])
    return {"outcome": outcome, "different": different, "detail": starts.text()}


def _read_only_store():
    """What a child records is not for others."""
    store.put = lambda key, label, record: None
    store.drop = lambda key, stored: None


def _until_a_miss(outcome, starts, where):
    """outcome(), or what a start without a capture tells that ended it, the first or one behind others that had one."""
    try:
        with frames.stopping_at_misses(where):
            return outcome()
    except frames.Missed:
        broken = starts.is_broken()
        return {
            "outcome": "broken" if broken else "seen" if starts.are_hits else "retraced",
            "detail": "; ".join(starts.said)[:_MAX_DETAIL] if broken else starts.text()}


def _traced(task):
    """Compares what a trace gives with what a warm start gave."""
    os.environ[features.MODE] = "off"
    found = _call(*_compiled_entry(load(task)))
    return {"outcome": "traced", "different": results.difference(found, results.load(task["kept"]))}


def _calls(task):
    """Changes live objects between calls, and compares each call with one of the entry itself."""
    starts = _Starts()
    _read_only_store()
    return _until_a_miss(lambda: _called(task, starts), starts, lambda: task["by"] == "stoker")


def _called(task, starts):
    module = load(task)
    entry, arguments = made(module)
    if task["by"] == "stoker":
        compiled = torch.compile(entry, backend="stoker")
    else:
        compiled = torch.compile(entry, backend="eager") if task["by"] == "pytorch" else entry
    scope = vars(module)
    scope.update({"torch": torch, live.ENTRY: entry, live.ARGUMENTS: list(arguments)})
    with torch.no_grad():
        results.of(lambda: compiled(*copy.deepcopy(scope[live.ARGUMENTS])))
        if task["by"] == "stoker" and not starts.are_hits:
            return {"outcome": "retraced", "detail": starts.text()}
        done = 0
        for text in task["changes"]:
            try:
                exec(text, scope)
                done += 1
            except Exception:
                continue  # It is not there to be changed.
            given = [copy.deepcopy(scope[live.ARGUMENTS]) for _ in range(2)]
            found, expected = (results.of(lambda: call(*given.pop())) for call in (compiled, entry))
            different = results.difference(expected, found)
            if starts.is_broken():
                return {"outcome": "broken", "detail": "; ".join(starts.said)[:_MAX_DETAIL]}
            if different:
                return {"outcome": "differs", "different": different, "detail": text}
    return {"outcome": "unseen, right" if done else "no change", "detail": starts.text()}


def _eager_again(task):
    """Compares a run that nothing came before with what was kept, and keeps it as "eager"."""
    try:
        found = _eager(load(task))
    except Exception as error:
        return {"outcome": "not a program", "detail": repr(error)[:_MAX_DETAIL]}
    if found == results.COMPILER_FAILED:
        return {"outcome": "no answer", "detail": results.text(found)}
    others = [results.difference(found, results.load(path)) for path in task["others"]]
    results.save(found, task["kept"])
    return {"outcome": "eager", "differences": others, "detail": results.text(found)}


_TASKS = {"record": _record, "warm": _warm, "traced": _traced, "calls": _calls, "eager": _eager_again}
