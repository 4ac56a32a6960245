"""The order of sets, where it may show: the seed of hashes decides it, and in which order a set was filled."""

import enum

from ..bytecode.reads import has_no_order, is_ordered_by_address
from .held import held
from .values import encode

_MAX_NESTING = 8  # Of containers in containers.


def sets_in(value, depth=0):
    """Those whose order is not known, in containers, in each other and in members of enumerations, too."""
    found = [value] if has_no_order(value) else []
    if isinstance(value, enum.Enum):
        value = (held(value, "_value_"),)
    if type(value) is dict:
        value = (*value, *value.values())
    if type(value) not in (tuple, list, set, frozenset) or depth == _MAX_NESTING:
        return found
    return found + [inner for item in value for inner in sets_in(item, depth + 1)]


def order_words(value):
    """[[element]] of the sets in it, as they come; what addresses order has no order that another process could have."""
    return [[encode(each) for each in inner] for inner in sets_in(value) if not is_ordered_by_address(inner)]
