"""What code may read outside of the program's objects: environment variables, which rank this is, and the order of
sets, which the seed of hashes decides.
"""

import os

from ..pytorch.state import rank
from .reads import code_inside, is_ordered_by_address, keys_are_plain
from .values import NotPortable

_NAMES = frozenset(("environ", "environb", "getenv", "getenvb"))
_HASHED = "stoker"
_DISTRIBUTED = "torch.distributed"


def environment_of(reached, texts, values):
    """JSON. `reached`: a reach.Reached; `texts`: what may name a variable; `values`: of guarded objects. NotPortable
    where code makes names."""
    readers = [
        code for outer in reached.codes for code in code_inside(outer) if not _NAMES.isdisjoint(code.co_names)]
    if not all(keys_are_plain(code, _NAMES) for code in readers if not _is_of_os(code)):
        raise NotPortable("environment variables whose names are made")
    makes_sets, sets = reached.shown_sets(values)
    if any(map(is_ordered_by_address, sets)):
        raise NotPortable("a set of objects, which addresses order")
    return {
        "variables": [[name, os.environ.get(name)] for name in sorted(texts)] if readers else [],
        "hash": hash(_HASHED) if makes_sets or sets else None,
        "rank": rank() if any(map(_asks_for_ranks, reached.chains.values())) else None}


def first_difference(words):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for name, expected in words["variables"]:
        if os.environ.get(name) != expected:
            return f"os.environ[{name!r}]", str(expected), str(os.environ.get(name))
    if words["hash"] not in (None, hash(_HASHED)):
        return "the seed of hashes", "that of another process", "another"
    if words["rank"] is not None and rank() != words["rank"]:
        return "torch.distributed", str(words["rank"]), str(rank())
    return None


def _is_of_os(code):
    """Of the module os: its callers give the names."""
    return code.co_filename == os.__file__


def _asks_for_ranks(value):
    name = getattr(value, "__name__", "") if not hasattr(value, "__module__") else value.__module__
    return isinstance(name, str) and name.startswith(_DISTRIBUTED)
