"""PyTorch 2.12 and later."""

from ..names import CAPTURES, Name

_BUILDER = "torch._dynamo.guards:GuardBuilder"

NAMES = (
    Name(f"{_BUILDER}.HASATTR", (CAPTURES,), "a kind of guard", ("self", "guard", "attr")),
    *(Name(f"{_BUILDER}.{kind}", (CAPTURES,), "a kind of guard", ("self", "guard", "key"))
      for kind in ("DICT_CONTAINS", "DICT_NOT_CONTAINS", "SET_CONTAINS", "SET_NOT_CONTAINS")),
)


def guard_words(kind, source, arguments):
    """(kind, source, arguments) as the newest PyTorch would say them."""
    return kind, source, arguments
