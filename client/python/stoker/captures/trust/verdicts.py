"""What a trial found out about an installation of PyTorch: remembered in the daemon's store, where every host finds it.

A trial takes seconds, and no job waits for it: what was recorded meanwhile is stored when the verdict is there. A
process of its own sees to it (trial/), which stores the verdict also when the job has ended before. Only what a trial
itself said is remembered; one that did not come to an end counts in its process alone.
"""

import atexit
import json
import logging
import os
import subprocess
import sys
import threading

from ...base import background
from ...base.log import captures_logger, logger
from ...base.signals import let_through
from ...libstoker.library import StokerError
from ...pytorch import installation
from ...pytorch.names import CAPTURES, DIRECT, OPTIMIZERS, SIZES, TRAINING
from ..store import store
from ..store.key import key_of_fields, recorder_text

MARK = "the verdict of a Stoker trial: "  # Before it, in what such a process prints.
_CAPTURES = __package__.rpartition(".")[0]
TIMEOUT_S = 600  # Of a trial, on a machine that is busy.
EXIT_S = 60  # How long the end of a process waits for a verdict, with something to store.
_FEATURES = (CAPTURES, DIRECT, SIZES, TRAINING, OPTIMIZERS)

# What may keep a trial from running as the job's own frames do.
_NOT_FOR_A_TRIAL = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "PYTHONWARNINGS", "TORCH_LOGS")


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
        question.verdict = remembered(digest)
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
    verdict = _tried(digest)
    if verdict is None:
        verdict = dict.fromkeys(_FEATURES, "a trial of it did not come to an end")
    with question.lock:
        question.verdict, waiting = verdict, question.waiting
        question.waiting = []
    for function in waiting:
        function(verdict)


def _tried(digest):
    """The verdict of a process of its own, run with this one's folders; None if it did not come to one."""
    interpreter = _interpreter()
    if interpreter is None:
        return None
    folders = os.pathsep.join(path for path in sys.path if os.path.isabs(path))
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_A_TRIAL}
    try:
        done = subprocess.run(  # -P: nothing of the folder it is started in.
            [interpreter, "-P", "-m", f"{_CAPTURES}.trial", digest], env={**environment, "PYTHONPATH": folders},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=None if captures_logger.isEnabledFor(logging.INFO) else subprocess.DEVNULL, text=True,
            timeout=2 * TIMEOUT_S,  # It may wait for another process's.
            start_new_session=True)  # What is sent to the job's terminal is not for it.
    except (OSError, subprocess.SubprocessError) as error:
        let_through(error)
        logger.debug("no trial: %r", error)
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
            except (ValueError, TypeError, AttributeError) as error:
                let_through(error)
                return None
    return None


def _checked(verdict):
    return {str(feature): str(reason) for feature, reason in verdict.items()}


def remembered(digest):
    """None if nobody tried it. StokerError where there is nobody to ask."""
    for stored in store.find(_key(digest)).captures:
        try:
            verdict = _checked(stored.record()["verdict"])
            store.use(_key(digest), f"a trial of PyTorch {installation.version()}", stored)
            return verdict
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            let_through(error)
            logger.info("captures: a verdict that cannot be read: %r", error)
    return None


def remember(digest, verdict):
    """For all hosts. StokerError where there is nobody to keep it."""
    store.put(_key(digest), f"a trial of PyTorch {installation.version()}", {"verdict": verdict})


def _key(digest):
    return key_of_fields((
        ("entry", f"installation {digest}"), ("frontend", recorder_text())))
