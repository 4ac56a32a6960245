"""PyTorch 2.11."""

from ..names import CAPTURES, Name

_BUILDER = "torch._dynamo.guards:GuardBuilder"

NAMES = (
    Name(f"{_BUILDER}.HASATTR", (CAPTURES,), "a kind of guard", ("self", "guard")),
    Name(f"{_BUILDER}.DICT_CONTAINS", (CAPTURES,), "a kind of guard", ("self", "guard", "key", "invert")),
    Name(f"{_BUILDER}.SET_CONTAINS", (CAPTURES,), "a kind of guard", ("self", "guard", "key", "invert")),
)


def guard_words(kind, source, arguments):
    """(kind, source, arguments) as the newest PyTorch would say them."""
    if kind == "HASATTR":  # On the attribute, whether it is there or not.
        return kind, getattr(source, "base", None), {"attr": getattr(source, "member", None)}
    if kind in ("DICT_CONTAINS", "SET_CONTAINS") and arguments.get("invert"):
        kind = kind.replace("_CONTAINS", "_NOT_CONTAINS")
    return kind, source, {name: value for name, value in arguments.items() if name != "invert"}
