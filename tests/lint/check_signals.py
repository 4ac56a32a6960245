#!/usr/bin/env python3
"""Checks that nothing which a signal handler raises is lost where Stoker catches what may be raised anyway.

A handler runs between any two instructions, and may raise anything. So whoever catches one of Python's own exceptions in
client/python/stoker hands it to base.signals.let_through, or raises it again; `suppressed` is there in place of
contextlib.suppress. And `map` and `filter` call nothing that is written in Python: they take a handler's StopIteration for the
end of what they go through, where a generator makes a RuntimeError of it, which let_through knows.
"""

import ast
import builtins
import sys

import repository

PACKAGE = "client/python/stoker/"
# Where no handler runs, or where the exception goes on otherwise.
ELSEWHERE = {
    "base/background.py": "a thread of its own",
    "base/signals.py": "what this is made of",
    "captures/audit/beside.py": "closes what it opened first; the child has handlers of its own",
    "captures/store/key.py": "a thread of its own",
    "command.py": "a program of its own",
    "export_archive/": "a program of its own",
    "libstoker/gpus_ahead.py": "a thread of its own",
    "lowering/uncompiled/later.py": "a thread of its own",
    "runtime/replays/cuda_recorder.py": "ends the recording first",
    "runtime/gate.py": "lets in who waits, and raises it again",
    "runtime/gpu_memory.py": "called from C, which nothing may pass through",
    "runtime/host_calls.py": "called from C, and raised again behind it",
    "runtime/kept_calls.py": "called from C, and raised again behind it",
}
# Where a premise that is left out would be no wrong one: what runs when all have been checked.
NO_PREMISES = ("runtime/",)
_OF_C = {"operator", "str", "bytes", "dict", "set", "math", "torch"}
_ANY = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)}
_ANY |= {"BaseException"}


def _names_of(kinds):
    """Of the exceptions that an `except` names."""
    if kinds is None:
        return {"BaseException"}
    parts = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _goes_on(handler):
    """Does it hand on what it caught, before anything else or after all?"""
    first, last = handler.body[0], handler.body[-1]
    hands_on = isinstance(first, ast.Expr) and isinstance(first.value, ast.Call) and (
        getattr(first.value.func, "id", "") == "let_through")
    return hands_on or isinstance(last, ast.Raise) and last.exc is None


def _may_be_interrupted(call):
    """Is it a `map` or `filter` of something that is not known to be written in C?"""
    if not (isinstance(call.func, ast.Name) and call.func.id in ("map", "filter") and len(call.args) > 1):
        return False
    called = call.args[0]
    if isinstance(called, ast.Attribute):
        return ast.unparse(called.value).partition(".")[0] not in _OF_C
    return not (isinstance(called, ast.Constant) or isinstance(called, ast.Name) and hasattr(builtins, called.id))


def complaints(files):
    """Complaints, path:line: message, about files given as {path: text}."""
    found = []
    for path, text in sorted(files.items()):
        own = path.removeprefix(PACKAGE)
        if not path.startswith(PACKAGE) or not path.endswith(".py") or any(own.startswith(place) for place in ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and _names_of(node.type) & _ANY and not _goes_on(node):
                found.append(f"{path}:{node.lineno}: what a signal handler raised may be lost here: let_through() comes first.")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "contextlib.suppress" and any(
                    ast.unparse(kind) in _ANY for kind in node.args):
                found.append(f"{path}:{node.lineno}: what a signal handler raised may be lost here: suppressed() lets it through.")
            if isinstance(node, ast.Call) and _may_be_interrupted(node) and not own.startswith(NO_PREMISES):
                found.append(f"{path}:{node.lineno}: a signal handler's StopIteration would end it unseen: a generator does not.")
    return found


if __name__ == "__main__":
    sys.exit(repository.report(complaints(repository.read_files(lambda path: path.startswith(PACKAGE)))))
