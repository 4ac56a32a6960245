"""A trial of this PyTorch's private interfaces, in a process that outlives the job which started it. Prints the verdict as
JSON on a line that begins with MARK, and has it remembered; prints nothing where there is none.

usage: python -m stoker.captures.trial DIGEST   (verdicts.py starts it)
"""

import fcntl
import json
import os
import select
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import torch

from ...base.log import captures_logger, logger
from ...base.signals import let_through
from ...libstoker.library import StokerError
from ...pytorch import installation
from ..trust import verdicts
from ..trust.verdicts import MARK, TIMEOUT_S
from . import judge

NAMESPACE = "trial"  # Of what a trial compiles and records.


def main(digest):
    if installation.digest() != digest:
        return  # Another PyTorch than the job's: its folders are not where this process looks.
    verdict = None
    try:
        with _one_at_a_time(digest):
            verdict = verdicts.remembered(digest)  # Of another process of this host, perhaps.
            if verdict is None:
                verdict = _of_a_child()
                if verdict is not None:
                    verdicts.remember(digest, verdict)
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
        let_through(error)
        logger.debug("no lock for a trial: %s", error)
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)  # The file stays: removing it would let two hold it.


def _of_a_child():
    """What a trial in a child said; None if it did not come to an end: what is tried may crash, or hang."""
    captures_logger.info("a trial of PyTorch %s begins", installation.version())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(writer)
    os.close(writer)
    with open(reader, encoding="utf-8") as said:
        if not select.select([said], [], [], TIMEOUT_S)[0]:
            os.kill(child, signal.SIGKILL)
        text = said.read()  # All at once, or nothing.
    os.waitpid(child, 0)
    return verdicts.verdict_in(text)


def _be_child(writer):
    """Never returns."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.environ.update(STOKER_CAPTURES="trial", STOKER_NAMESPACE=NAMESPACE)
        os.environ.pop("STOKER_RECORD", None)  # Of the job's manifest it is no part.
        torch.set_num_threads(1)  # The pool's threads are in the parent.
        os.write(writer, f"{MARK}{json.dumps(judge.verdict())}\n".encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
