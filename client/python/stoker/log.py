"""The logger `stoker`: warnings always show; STOKER_LOG=debug|info|warning|error asks for more or less, and
STOKER_LOG=captures for why each start was or was not warm."""

import logging
import os
import threading

logger = logging.getLogger("stoker")
captures_logger = logging.getLogger("stoker.captures")

_said = set()
_lock = threading.Lock()


def _configure():
    level = os.environ.get("STOKER_LOG", "").upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR", "CAPTURES"):
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("stoker: %(message)s"))
    logger.addHandler(handler)
    if level == "CAPTURES":
        captures_logger.setLevel("INFO")
    else:
        logger.setLevel(level)
    logger.propagate = False


_configure()


def warn_once(key, message, *arguments):
    """Warns the first time that `key` comes up in this process."""
    with _lock:
        if key in _said:
            return
        _said.add(key)
    logger.warning(message, *arguments)
