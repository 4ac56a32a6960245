"""Whether captures are used in this process. No list of versions decides: facts do.

Names that are not there, or are otherwise, turn a feature off (pytorch/facts.py). Where all are there and the
installation is none that was tested (tested.json), a trial in a child process says how they behave (trial/);
its verdict is remembered in the daemon's store under the installation's digest. Until it is known nothing starts
warm; what was recorded meanwhile is stored when it is known.
"""

import functools
import json
from pathlib import Path

from ...base import settings
from ...pytorch import facts, installation
from ...pytorch.names import CAPTURES, DIRECT, OPTIMIZERS, SIZES, TRAINING
from ..store.store import has_symbolic_sizes, trains

MODE = "STOKER_CAPTURES"
_MODES = ("on", "off", "0", "audit", "trial")  # audit: of every warm start; trial: in a trial's process.

_INSTEAD = {
    CAPTURES: "every process traces",
    OPTIMIZERS: "every process traces steps of them",
    DIRECT: "it goes through torch.compile",
    SIZES: "every process traces graphs that have them",
    TRAINING: "every process traces graphs for training"}


def mode():
    return settings.choice(MODE, _MODES)


def may_be_on(feature=CAPTURES):
    """Are they wanted, and is all there that they need? A line says what is not."""
    if mode() in ("off", "0"):
        return False
    return facts.has(feature, _INSTEAD[feature])


def are_on(feature=CAPTURES):
    """The same, and did they pass? False while that is not known."""
    if not may_be_on(feature):
        return False
    if is_trusted():
        return True
    from . import verdicts  # Not before an installation is met that was not tested.

    verdict = verdicts.of_installation()
    return verdict is not None and _has_passed(feature, verdict)


def first_off(record):
    """The first feature that a capture needs besides CAPTURES and that is not on, or None."""
    needed = (
        (SIZES, has_symbolic_sizes(record)), (TRAINING, trains(record)), (OPTIMIZERS, record["optimizers"] is not None))
    return next((feature for feature, is_needed in needed if is_needed and not are_on(feature)), None)


def when_decided(store):
    """Calls store() now, or when it is known that captures passed; never if they did not."""
    if is_trusted():
        store()
        return
    from . import verdicts

    verdicts.when_known(lambda verdict: store() if _has_passed(CAPTURES, verdict) else None)


def _has_passed(feature, verdict):
    reason = verdict.get(feature)
    if reason is not None:
        facts.say_off(feature, reason, _INSTEAD[feature])
    return reason is None


def needs_graph(options):
    """Does a call with these options of torch.compile() need what a warm start does not build? The interpreter does."""
    return isinstance(options, dict) and bool(options.get("verify"))


@functools.cache
def is_trusted():
    """Is this installation one that Stoker was tested with, or this process its trial?"""
    return mode() == "trial" or installation.digest() in tested()


def tested():
    """Digest of an installation -> what it was, as ./dev matrix wrote it."""
    return json.loads(Path(__file__).with_name("tested.json").read_text())
