"""May code ask where code stands in its file? Digests leave that out, but for code that does."""

from .reads import ALL, code_inside, takes_exceptions

_OF_LINES = frozenset((
    "tb_lineno", "tb_lasti", "f_lineno", "f_lasti", "co_firstlineno", "co_lines", "co_positions", "co_linetable", "co_lnotab",
    "__firstlineno__"))
# What leads to what has these: frames, tracebacks, code objects.
_LEADING = frozenset((
    "__traceback__", "__code__", "exc_info", "gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code"))


def asks_for_lines(names, codes):
    """`names`: that code may read, or ALL; `codes`: of programs."""
    if names is not ALL:
        return not _OF_LINES.isdisjoint(names)
    return any(takes_exceptions(code) or any(not _LEADING.isdisjoint(each.co_names) for each in code_inside(code)) for code in codes)
