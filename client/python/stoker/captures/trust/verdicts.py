"""What a trial found out about an installation of PyTorch: remembered in the daemon's store, where every host finds it.

A trial takes seconds, and no job waits for it: what was recorded meanwhile is stored when the verdict is there. A
process of its own sees to it (this module, run), which stores the verdict also when the job has ended before. Only
what a trial itself said is remembered; one that did not come to an end counts in its process alone.

usage: python -m stoker.captures.trust.verdicts DIGEST   prints what is remembered, or what a trial says now
"""

import atexit
import fcntl
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from ...base import background
from ...base.log import captures_logger, logger
from ...libstoker.library import StokerError
from ...pytorch import installation
from ...pytorch.names import CAPTURES, DIRECT, SIZES
from ..store import store
from ..store.key import key_of_fields, recorder_text

MARK = "the verdict of a Stoker trial: "  # Before it, in what such a process prints.
NAMESPACE = "trial"  # Of what a trial compiles and records.
_CAPTURES = __package__.rpartition(".")[0]
_TIMEOUT_S = 600  # Of a trial, on a machine that is busy.
EXIT_S = 60  # How long the end of a process waits for a verdict, with something to store.
_FEATURES = (CAPTURES, DIRECT, SIZES)

# What may keep a trial from running as the job's own frames do; and the job's manifest, of which it is no part.
_NOT_FOR_A_TRIAL = (
    "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "PYTHONWARNINGS", "TORCH_LOGS", "STOKER_RECORD")


class _Question:
    """About this process's installation."""

    def __init__(self):
        self.lock = threading.Lock()
        self.verdict = None
        self.thread = None
        self.waiting = []  # Functions of the verdict.


_question = _Question()


def _forget():
    global _question
    _question = _Question()  # The thread that asks is not in a forked child; its lock may be held.


os.register_at_fork(after_in_child=_forget)


def of_installation():
    """Feature -> why it does not work (features that work are not in it); None while that is not known. The first
    question looks it up, and starts a trial if nobody made one."""
    question = _question
    if question.verdict is None and question.thread is None:
        with question.lock:
            if question.verdict is None and question.thread is None:
                _ask(question)
    return question.verdict


def when_known(function):
    """Calls function(verdict), now or when it is known, maybe in another thread. It may be that it never is."""
    of_installation()
    question = _question
    with question.lock:
        if question.verdict is None:
            question.waiting.append(function)
            return
    function(question.verdict)


def _ask(question):
    digest = installation.digest()
    try:
        question.verdict = _remembered(digest)
    except StokerError as error:
        logger.info("captures: no daemon to ask about this PyTorch: %s", error)
        return  # And none to keep captures: asked again with the next frame.
    if question.verdict is None:
        question.thread = background.start(
            "stoker-trial", "starts are not warm", _try, question, digest)
        atexit.register(_wait_for, question)


def _wait_for(question):
    if question.waiting:
        question.thread.join(EXIT_S)


def _try(question, digest):
    verdict = _run(
        f"{__package__}.verdicts", digest, environment=os.environ, timeout_s=2 * _TIMEOUT_S,
        errors=None if captures_logger.isEnabledFor(logging.INFO) else subprocess.DEVNULL)
    if verdict is None:
        verdict = dict.fromkeys(_FEATURES, "a trial of it did not come to an end")
    with question.lock:
        question.verdict, waiting = verdict, question.waiting
        question.waiting = []
    for function in waiting:
        function(verdict)


def main(digest):
    """In a process of its own: nothing is printed where there is no verdict."""
    if installation.digest() != digest:
        return  # Another PyTorch than the job's: its folders are not where this process looks.
    verdict = None
    try:
        with _one_at_a_time(digest):
            verdict = _remembered(digest)  # Of another process of this host, perhaps.
            if verdict is None:
                verdict = run_trial()
                if verdict is not None:
                    store.put(
                        _key(digest), f"a trial of PyTorch {installation.version()}", {"verdict": verdict})
    except StokerError as error:
        logger.info("captures: the daemon does not keep a trial's verdict: %s", error)
    if verdict is not None:
        print(f"\n{MARK}{json.dumps(verdict)}", flush=True)


@contextmanager
def _one_at_a_time(digest):
    """The ranks of a job start together: one tries, the others wait for what it finds."""
    try:
        path = Path(tempfile.gettempdir()) / f"stoker-trial-{os.getuid()}-{digest[:16]}.lock"
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        logger.debug("no lock for a trial: %s", error)
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)  # The file stays: removing it would let two hold it.


def run_trial():
    """What a trial in a child process said; None if it did not come to an end."""
    captures_logger.info("a trial of PyTorch %s begins", installation.version())
    environment = {
        name: value for name, value in os.environ.items() if name not in _NOT_FOR_A_TRIAL}
    environment |= {"STOKER_CAPTURES": "trial", "STOKER_NAMESPACE": NAMESPACE}
    return _run(f"{_CAPTURES}.trial", environment=environment, timeout_s=_TIMEOUT_S)


def _run(module, *arguments, environment, timeout_s, errors=subprocess.DEVNULL):
    """The verdict that a module prints, run with this process's folders; None if it does not."""
    interpreter = _interpreter()
    if interpreter is None:
        return None
    folders = os.pathsep.join(path for path in sys.path if os.path.isabs(path))
    try:
        done = subprocess.run(  # -P: nothing of the folder it is started in.
            [interpreter, "-P", "-m", module, *arguments], env={**environment, "PYTHONPATH": folders},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=timeout_s,
            start_new_session=True)  # What is sent to the job's terminal is not for it.
    except (OSError, subprocess.SubprocessError) as error:
        logger.debug("%s: %r", module, error)
        return None
    return verdict_in(done.stdout)


def _interpreter():
    """Python's: a program that Python is embedded in names itself as sys.executable."""
    for path in (sys.executable, os.path.join(sys.exec_prefix, "bin", "python3")):
        if path and os.path.basename(path).startswith("python") and os.access(path, os.X_OK):
            return path
    return None


def verdict_in(text):
    """What a trial printed among other things; None if it did not."""
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                return _checked(json.loads(line.removeprefix(MARK)))
            except (ValueError, TypeError, AttributeError):
                return None
    return None


def _checked(verdict):
    return {str(feature): str(reason) for feature, reason in verdict.items()}


def _remembered(digest):
    """None if nobody tried it. StokerError where there is nobody to ask."""
    for stored in store.find(_key(digest)).captures:
        try:
            verdict = _checked(stored.record()["verdict"])
            store.use(_key(digest), f"a trial of PyTorch {installation.version()}", stored)
            return verdict
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            logger.info("captures: a verdict that cannot be read: %r", error)
    return None


def _key(digest):
    return key_of_fields((
        ("entry", f"installation {digest}"), ("frontend", recorder_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
