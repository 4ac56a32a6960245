"""What code may read by name.

A name in code reaches whatever bears it: which object it is read from only a run tells. So names are taken together
over all code that was traced, and of each object that a trace may have met, what bears one of them is part of what
the capture depends on: its value, or that it is not there.
"""

import dis
import types

ALL = None  # In place of a set of names: any name may be read.

# Instructions that load a global, and those that read an attribute of what was loaded.
_LOADS_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_MAX_DEPTH = 16  # Of containers in containers.
_NEUTRAL = ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL", "PRECALL", "KW_NAMES", "RESUME")

# With one of these, code reads attributes that it does not name,
_READ_ALL = frozenset((
    "vars", "dir", "getmembers", "getmembers_static", "get_type_hints", "get_annotations", "attrgetter"))
# or does if it makes the name.
_READ_BY_TEXT = frozenset(("getattr", "hasattr", "setattr", "delattr", "getattr_static", "__getattribute__"))
_MAKES_TEXT = frozenset(("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"))
_TEXT_METHODS = frozenset((
    "format", "join", "upper", "lower", "replace", "removeprefix", "removesuffix", "strip", "lstrip", "rstrip",
    "split", "rsplit", "partition", "rpartition", "title", "capitalize", "casefold", "swapcase", "decode"))


def code_inside(code):
    """The code object, and all that stand in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_inside(constant)


def chains_of(code):
    """Global names that the code reads, each with the attributes read from it: tuples of names."""
    chains = set()
    for each in code_inside(code):
        current = ()
        for instruction in dis.get_instructions(each):
            name = instruction.opname
            if name in _LOADS_GLOBAL:
                current = (instruction.argval,)
            elif name in _LOADS_ATTRIBUTE and current:
                current = (*current, instruction.argval)
            elif name not in _NEUTRAL:
                current = ()
            if current:
                chains.add(current)
    return chains


def names_of(code):
    """Names in the code, and texts in it that may be names. ALL if it may read attributes that it does not name."""
    names = set()
    for each in code_inside(code):
        names.update(each.co_names)
        for constant in each.co_consts:
            names |= texts_in(constant)
        if not _READ_ALL.isdisjoint(each.co_names):
            return ALL
        if not _READ_BY_TEXT.isdisjoint(each.co_names) and makes_text(each):
            return ALL
    return names


def asks_by_text(code):
    """May it read an attribute under a name that comes as a value?"""
    return any(not _READ_BY_TEXT.isdisjoint(each.co_names) for each in code_inside(code))


def makes_sets(code):
    """May it make a set, but for asking whether something is in it?"""
    for each in code_inside(code):
        instructions = _effective(each)
        for instruction, following in zip(instructions, [*instructions[1:], None]):
            makes = instruction.opname in ("BUILD_SET", "SET_ADD", "SET_UPDATE") or (
                instruction.opname == "LOAD_CONST" and has_no_order(instruction.argval)) or (
                instruction.opname in _LOADS_GLOBAL and instruction.argval in ("set", "frozenset"))
            if makes and (following is None or following.opname != "CONTAINS_OP"):
                return True
    return False


def has_no_order(value):
    """Is it a set whose order the seed of hashes, or addresses, decide?"""
    return isinstance(value, (set, frozenset)) and len(value) > 1 and any(
        type(item) is not int for item in value)


def is_ordered_by_address(value):
    return has_no_order(value) and not all(isinstance(item, (int, float, str, bytes)) for item in value)


def texts_in_code(code):
    return set().union(*(texts_in(each.co_consts) for each in code_inside(code)))


def texts_in(value, depth=0):
    """Texts in a constant, or in plain data, that may be names."""
    kind = type(value)
    if kind is str:
        return {value} if value.isidentifier() else set()
    if depth == _MAX_DEPTH:
        return set()
    if kind is dict:
        value, kind = (*value, *value.values()), tuple
    found = set()
    if kind in (tuple, list, frozenset, set):
        for item in value:
            found |= texts_in(item, depth + 1)
    return found


def together(sets):
    """The names of all of these sets; ALL if one is."""
    names = set()
    for each in sets:
        if each is ALL:
            return ALL
        names |= each
    return frozenset(names)


def makes_text(code):
    """May it make a text, of parts or from another one?"""
    if not _TEXT_METHODS.isdisjoint(code.co_names):
        return True
    instructions = _effective(code)
    return any(
        instruction.opname in _MAKES_TEXT or (_adds(instruction) and _is_of_text(instructions[:place]))
        for place, instruction in enumerate(instructions))


def _is_of_text(before):
    """Is an operand of what follows a constant text?"""
    def is_text(instruction):
        return instruction.opname == "LOAD_CONST" and type(instruction.argval) is str

    return bool(before) and (is_text(before[-1]) or (
        len(before) > 1 and before[-1].opname.startswith("LOAD_")
        and before[-1].opname not in _LOADS_ATTRIBUTE and is_text(before[-2])))


def keys_are_plain(code, containers):
    """Are all keys that the code, without code in it, looks up in these a constant or a global each? `containers`:
    names of mappings and of functions that look a key up."""
    instructions = _effective(code)
    for place, instruction in enumerate(instructions):
        if instruction.opname not in (*_LOADS_GLOBAL, *_LOADS_ATTRIBUTE) or instruction.argval not in containers:
            continue
        following = instructions[place + 1:]
        if following and following[0].opname in _LOADS_ATTRIBUTE and following[0].argval == "get":
            following = following[1:]
        start = place
        while start and instructions[start].opname in _LOADS_ATTRIBUTE:
            start -= 1
        is_asked = following and following[0].opname == "CONTAINS_OP"
        key = instructions[start - 1] if is_asked and start else following[0] if following else instruction
        if key.opname not in ("LOAD_CONST", "LOAD_GLOBAL") or (not is_asked and key is instruction):
            return False
    return True


def _effective(code):
    return [instruction for instruction in dis.get_instructions(code) if instruction.opname not in _NEUTRAL]


def _adds(instruction):
    """`%` and `+` make texts, too."""
    return instruction.opname == "BINARY_OP" and instruction.argrepr in ("%", "%=", "+", "+=")


__all__ = [
    "ALL", "asks_by_text", "chains_of", "code_inside", "has_no_order", "keys_are_plain", "makes_sets", "makes_text",
    "is_ordered_by_address", "names_of", "texts_in", "texts_in_code", "together"]
