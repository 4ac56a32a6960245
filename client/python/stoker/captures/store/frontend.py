"""Which frontend this is: what it records, and what it makes of a graph, follow from its source."""

import functools
from pathlib import Path

from ...libstoker import source_digest

_ROOT = Path(__file__).parents[2]
_DIGITS = 24


@functools.cache
def digest():
    """Of all Python source of this package, the same on every host."""
    return source_digest.digest(_ROOT)[:_DIGITS]
