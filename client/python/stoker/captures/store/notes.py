"""How starts went: counted here, said to whom asks for it, told to the daemon."""

from ...base import tally
from ...base.log import captures_logger, logger
from ...libstoker.library import StokerError
from . import store


def note(entry, outcome, reason="", detail=""):
    """Counts, says and reports how a start went. `entry`: of its CaptureKey."""
    tally.count(f"captures.{outcome}" + (f".{reason}" if reason else ""))
    captures_logger.info(
        "%s: %s%s%s", outcome, entry, reason and f": {reason}", detail and f": {detail}")
    try:
        store.note(entry, outcome, reason, detail)
    except StokerError as error:
        logger.debug("the daemon does not take notes: %s", error)
