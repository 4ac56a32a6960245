"""What a trial found out about an installation of PyTorch: remembered in the daemon's store, where every host finds it."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from .. import __version__, tally
from ..library import StokerError
from ..log import logger
from ..pytorch import installation
from ..pytorch.names import CAPTURES, DIRECT
from . import store
from .key import FORMAT, key_of_fields

NAMESPACE = "trial"  # Of what a trial compiles and records.
_TIMEOUT_S = 600  # Of a trial, on a machine that is busy.

_lock = threading.Lock()
_known = {}  # Digest -> verdict.
_running = {}  # Digest -> the thread around a trial.


def of_installation(wait_s):
    """Feature -> why it does not work (features that work are not in it); None if that is not known within
    `wait_s`. The first question starts a trial if there is no verdict yet."""
    digest = installation.digest()
    with _lock:
        if digest not in _known and digest not in _running:
            found = _remembered(digest)
            if found is not None:
                _known[digest] = found
            else:
                _running[digest] = thread = threading.Thread(
                    target=_try, args=(digest,), name="stoker-trial", daemon=True)
                thread.start()
        thread = _running.get(digest)
    if digest not in _known and thread is not None and wait_s:
        thread.join(wait_s)
    return _known.get(digest)


def _try(digest):
    with _one_at_a_time(digest):
        verdict = _remembered(digest)  # Of another process of this host, perhaps.
        if verdict is None:
            verdict = run_trial()
            try:
                store.put(
                    _key(digest), f"a trial of PyTorch {installation.version()}", {"verdict": verdict})
            except StokerError as error:
                logger.info("captures: the daemon does not keep a trial's verdict: %s", error)
    _known[digest] = verdict


@contextmanager
def _one_at_a_time(digest):
    """The ranks of a job start together: one tries, the others wait for what it finds."""
    path = Path(tempfile.gettempdir()) / f"stoker-trial-{os.getuid()}-{digest[:16]}.lock"
    try:
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
    """The verdict of a child process."""
    tally.count("captures.trial")
    environment = dict(os.environ, STOKER_CAPTURES="trial", STOKER_NAMESPACE=NAMESPACE)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "stoker.captures.trial"], env=environment, capture_output=True,
            text=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL)
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        logger.debug("the trial: %r", error)
        reason = "a trial of it did not come to an end"
        return {CAPTURES: reason, DIRECT: reason}


def _remembered(digest):
    try:
        for stored in store.find(_key(digest)).captures:
            verdict = stored.record()["verdict"]
            return {str(feature): str(reason) for feature, reason in verdict.items()}
    except (StokerError, ValueError, KeyError, TypeError, AttributeError) as error:
        logger.info("captures: no verdict about this PyTorch: %r", error)
    return None


def _key(digest):
    return key_of_fields((
        ("entry", f"installation {digest}"), ("frontend", f"{__version__} format {FORMAT}")))
