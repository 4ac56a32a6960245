"""What this process did: graphs, fallbacks, bindings, and how long the stages of each compile took."""

from collections import Counter

from .locks import ProcessLock

_lock = ProcessLock()
_counts = Counter()
_fallback_ops = Counter()
_compiles = []

# A job that keeps recompiling must not grow this list for ever.
MAX_REMEMBERED_COMPILES = 1000


def count(name, by=1):
    with _lock():
        _counts[name] += by


def count_fallback(operator):
    with _lock():
        _fallback_ops[operator] += 1


def remember_compile(record):
    with _lock():
        _compiles.append(record)
        del _compiles[:-MAX_REMEMBERED_COMPILES]


def counters():
    """Counter name -> number, of this process."""
    with _lock():
        return dict(_counts)


def fallback_ops():
    """Operator that ran in eager PyTorch -> in how many graphs."""
    with _lock():
        return dict(_fallback_ops)


def compiles():
    """One dictionary for each graph compiled, oldest first; README.md lists the keys."""
    with _lock():
        return [dict(record) for record in _compiles]


def last_compile():
    with _lock():
        return dict(_compiles[-1]) if _compiles else None
