"""An audit's child: a copy of this process that traces a frame again while the job goes on. It takes nothing from the
job but pages that it shares, runs nothing of it, and ends with the trace.
"""

import contextlib
import fcntl
import logging
import os
import signal
import warnings

import torch

from ...base import background
from ...base.locks import Turn
from ...base.log import logger
from ...base.signals import suppressed

TIMEOUT_S = 600  # Of a trace, at the lowest priority.
# All that a child says: what else it meets, as where PyTorch does not trace in a forked process, is nothing of the job's.
WRONG = "a capture of %s was wrong and is dropped: %s is %s in a new trace, not %s."
_LINES = 3  # The descriptor that its lines go to.
_MAX_FD = 1 << 16

_is_child = False
_turn = Turn()  # One child at a time.


def is_child():
    """Is this process one? Then nothing is compiled, and it ends when its frame has been traced."""
    return _is_child


def end():
    """The end of a child."""
    os._exit(0)


def run(trace):
    """Calls trace() in a child; whether a capture was wrong there, this process says. False if there is none now: forking is not
    safe here, or another one is at work."""
    if not _may_fork() or _turn.is_taken():
        return False
    reader, writer = os.pipe()
    try:
        child = _fork()
    except OSError as error:
        logger.info("no audit: %s", error)
        os.close(reader)
        os.close(writer)
        _turn.end()
        return False
    if child == 0:
        _be_child(trace, writer)
    os.close(writer)
    with suppressed(ChildProcessError):  # Somebody else may have waited for it, or nobody may.
        os.waitpid(child, 0)  # It has ended at once; its own child belongs to nobody.
    background.start("stoker-audit", "what an audit found is not said", _say, reader)
    return True


def _may_fork():
    """CUDA's contexts do not survive a fork."""
    return hasattr(os, "fork") and not torch.cuda.is_initialized()


def _fork():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Of threads: what the child uses of them is made anew.
        return os.fork()


def _be_child(trace, writer):
    """Never returns: not into the job's frames, whatever happens."""
    try:
        if _fork() == 0:
            _leave_job(writer)
            trace()
    except BaseException as error:
        logger.info("an audit did not come to an end: %r", error)
    finally:
        end()


def _leave_job(writer):
    """Sessions, files and processors are the job's."""
    global _is_child
    _is_child = True
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(TIMEOUT_S)
    with contextlib.suppress(OSError):
        os.nice(19)
    writer = fcntl.fcntl(writer, fcntl.F_DUPFD, _LINES + 1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.dup2(writer, _LINES)
    os.closerange(_LINES + 1, _MAX_FD)
    torch.set_num_threads(1)  # Its pool's threads are in the job.
    lines = logging.StreamHandler(os.fdopen(_LINES, "w", buffering=1))
    lines.setLevel(logging.WARNING)
    lines.addFilter(lambda record: record.msg == WRONG)
    logger.handlers[:] = [lines]
    logger.propagate = False


def _say(reader):
    with os.fdopen(reader, errors="replace") as lines:
        for line in lines:
            logger.warning("%s", line.rstrip("\n"))
    _turn.end()
