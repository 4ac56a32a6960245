"""The logger `stoker`: warnings always show; STOKER_LOG=debug|info|warning|error asks for more or less, and
STOKER_LOG=captures for why each start was or was not warm."""

import logging

from . import settings
from .locks import ProcessLock

logger = logging.getLogger("stoker")
captures_logger = logging.getLogger("stoker.captures")

_said = set()
_lock = ProcessLock()


def _configure():
    level = settings.choice("STOKER_LOG", ("debug", "info", "warning", "error", "captures"))
    if not level:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("stoker: %(message)s"))
    logger.addHandler(handler)
    if level == "captures":
        captures_logger.setLevel("INFO")
    else:
        logger.setLevel(level.upper())
    logger.propagate = False


_configure()


def warn_of_bug(consequence, error):
    """A bug of ours must not end a job: it is said once, while the job goes on."""
    warn_once(("bug", consequence, repr(error)), "%s, by a bug in Stoker: %r", consequence, error)
    logger.debug("the bug", exc_info=error)


def warn_once(key, message, *arguments):
    """Warns the first time that `key` comes up in this process."""
    with _lock():
        if key in _said:
            return
        _said.add(key)
    logger.warning(message, *arguments)
