"""GPUs' libraries: what they need at first is read while a program goes on to its first call."""

import functools

from ..base import background
from ..base.log import logger
from . import library
from .library import StokerError


@functools.cache
def warm_up(gpu):
    """In a thread; once for each GPU by name, "cuda:0". None: nothing."""
    if gpu is not None:
        background.start("stoker-warm-up", "the first call on a GPU is slower", _warm_up, gpu)


def _warm_up(gpu):
    try:
        library.check(library.load().stoker_device_warm_up(gpu.encode()))
    except StokerError as error:
        logger.info("nothing is read ahead on %s: %s", gpu, error)  # The call that needs it says it to the user.
