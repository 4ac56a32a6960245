"""The instructions of code, which is looked into for one thing after the other while a capture is made."""

import dis

_MOST = 512  # Code objects whose instructions are kept.
_NEUTRAL = ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL", "PRECALL", "KW_NAMES", "RESUME")

_all, _effective = {}, {}  # id(code): (code, its instructions).


def all_of(code):
    """All. Read alone."""
    return _found(_all, code, lambda: tuple(dis.get_instructions(code)))


def effective_of(code):
    """Those that do something by themselves. Read alone."""
    return _found(_effective, code, lambda: [each for each in all_of(code) if each.opname not in _NEUTRAL])


def is_neutral(instruction):
    return instruction.opname in _NEUTRAL


def forget():
    """They take much memory."""
    _all.clear()
    _effective.clear()


def _found(known, code, read):
    entry = known.get(id(code))
    if entry is None:
        if len(known) >= _MOST:
            known.clear()
        entry = known[id(code)] = code, read()  # With the code, nothing else gets its id.
    return entry[1]
