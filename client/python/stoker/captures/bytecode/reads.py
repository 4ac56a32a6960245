"""What code may read by name.

A name in code reaches whatever bears it: which object it is read from only a run tells. So names are taken together
over all code that was traced, and of each object that a trace may have met, what bears one of them is part of what
the capture depends on: its value, or that it is not there.
"""

import dis
import operator
import re
import types

from .asked_names import asks_by_constants
from .instructions import all_of, effective_of, is_neutral

ALL = None  # In place of a set of names: any name may be read.

# Instructions that load a global, and those that read an attribute of what was loaded.
_LOADS_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_MAX_DEPTH = 16  # Of containers in containers.

# Of dictionaries, and what makes sets of them.
VIEWS = frozenset(("keys", "items"))
_OF_SETS = frozenset(("&", "|", "^", "-", "&=", "|=", "^=", "-="))
COMBINING = frozenset(  # Methods.
    f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in ("and", "or", "xor", "sub"))
_OPERATORS = frozenset(("and_", "or_", "xor", "sub", "iand", "ior", "ixor", "isub"))  # Functions of the module operator.

_ASK_FOR_IDENTITY = frozenset(("is_", "is_not"))  # Functions of the module operator.
_NUMBERS = (bool, int, float, complex)
_BEFORE_ANY = ("RESUME", "COPY_FREE_VARS", "EXTENDED_ARG", "PUSH_NULL")
_OF_ONE_CALL = ("BUILD_TUPLE", "PRECALL", "CALL", "RETURN_VALUE")
_HASHES = ("hash", "__hash__")  # Of Python's own module, and of everything.

# With one of these, code reads attributes that it does not name,
_READ_ALL = frozenset((
    "vars", "dir", "getmembers", "getmembers_static", "get_type_hints", "get_annotations", "attrgetter"))
# or does if it makes the name.
_READ_BY_TEXT = frozenset((
    "getattr", "hasattr", "setattr", "delattr", "getattr_static", "__getattribute__", "__dict__"))
# What reads variables, and with how many arguments those of something else.
READERS_OF_VARIABLES = {"locals": None, "globals": None, "vars": 1, "eval": 2, "exec": 2}
# PyTorch's modules look into their own dictionaries, for names that code gives them.
_READ_BY_TEXT_IN_PYTORCH = _READ_BY_TEXT - {"__dict__"}
# Methods of a dictionary that look at one item.
_OF_ONE_KEY = frozenset(("get", "pop", "setdefault", "__getitem__", "__setitem__", "__contains__"))
_MAKES_TEXT = frozenset(("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"))
# With one of these, in names that a text holds.
_READ_BY_TEMPLATE = frozenset(("format", "format_map"))
_ATTRIBUTE_IN_TEMPLATE = re.compile(r"\.([^\W\d]\w*)")
_MAKERS_OF_CLASSES = frozenset(("type", "new_class", "make_dataclass", "__class__"))
_READS_IN_TEMPLATE = re.compile(r"\{[^{}:!]*[.\[]")
_GIVEN_EXCEPTIONS = ("__exit__", "__aexit__", "throw")
_GO_ON = ("PUSH_EXC_INFO", "MATCH_KEYS")
_MATCHES_CLASS = dis.opmap["MATCH_CLASS"]
_BRANCHES = ("POP_JUMP_", "NOT_TAKEN", "TO_BOOL")
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
        for instruction in all_of(each):
            name = instruction.opname
            if name in _LOADS_GLOBAL:
                current = (instruction.argval,)
            elif name in _LOADS_ATTRIBUTE and current:
                current = (*current, instruction.argval)
            elif not is_neutral(instruction):
                current = ()
            if current:
                chains.add(current)
    return chains


def imports_of(code, package, places=ALL):
    """Names of the modules that the code imports, as in a module of the package, and of those that it may take from
    packages. `places`: those of the instructions that count."""
    found = set()
    for each in code_inside(code):
        instructions = effective_of(each)
        for place, instruction in enumerate(instructions):
            if instruction.opname == "IMPORT_NAME" and (places is ALL or instruction.positions in places):
                level, names = (before.argval for before in instructions[place - 2:place])
                outer = package.split(".")[:len(package.split(".")) - level + 1] if level else []
                name = ".".join([*outer, *filter(None, [instruction.argval])])
                found.update((name, *(f"{name}.{inner}" for inner in names or ())))
                while "." in name:  # `import a.b` gives a.
                    name = name.rpartition(".")[0]
                    found.add(name)
    return found


def names_of(code, is_pytorchs):
    """Names in the code, and texts in it that may be names. ALL if it may read attributes that it does not name."""
    by_text = _READ_BY_TEXT_IN_PYTORCH if is_pytorchs else _READ_BY_TEXT
    names = set()
    for each in code_inside(code):
        names.update(each.co_names)
        for constant in each.co_consts:
            names |= texts_in(constant)
        if not _READ_ALL.isdisjoint(each.co_names):
            return ALL
        if not by_text.isdisjoint(each.co_names) and makes_text(each) and not asks_by_constants(each, by_text):
            return ALL
    return names


def enumerates(code):
    """May it go through the attributes of something, in their order? PyTorch's own code depends on no such order."""
    for each in code_inside(code):
        if not _READ_ALL.isdisjoint(each.co_names):
            return True
        if "__dict__" not in each.co_names:
            continue
        instructions = effective_of(each)
        for place, instruction in enumerate(instructions):
            if instruction.opname in _LOADS_ATTRIBUTE and instruction.argval == "__dict__" and not _is_of_one_key(
                    instructions[place + 1:place + 3]):
                return True
    return False


def fills_templates(code):
    """May it fill a template that reads attributes or items, or one that it is given?"""
    for each in code_inside(code):
        if _READ_BY_TEMPLATE.isdisjoint(each.co_names):
            continue
        if "format_map" in each.co_names or any(
                type(constant) is str and _READS_IN_TEMPLATE.search(constant) for constant in each.co_consts):
            return True
    return False


def states_class(code):
    """Is there a class statement in it?"""
    return any(
        instruction.opname == "LOAD_BUILD_CLASS" for each in code_inside(code) for instruction in all_of(each))


def calls_for_class(code):
    """May it make a class by calling `type` with three arguments, or what else makes one?"""
    return any(
        instruction.opname == "CALL_FUNCTION_EX" or instruction.opname.startswith("CALL") and (instruction.arg or 0) >= 3
        for each in code_inside(code) if not _MAKERS_OF_CLASSES.isdisjoint(each.co_names)
        for instruction in all_of(each))


def compares_identity(code):
    """May it ask whether two values are one object? Whether something is None, or True, the value itself says."""
    for each in code_inside(code):
        if not _ASK_FOR_IDENTITY.isdisjoint((*each.co_names, *(text for text in each.co_consts if type(text) is str))):
            return True
        is_singular = False  # What lies on top.
        for instruction in all_of(each):
            is_singular &= not instruction.is_jump_target  # A jump may bring something else.
            if instruction.opname == "IS_OP" and not is_singular:
                return True
            if not is_neutral(instruction):
                is_singular = instruction.opname == "LOAD_CONST" and any(
                    instruction.argval is each for each in (None, True, False, ...))
    return False


def asks_for_identity(value):
    """Is it a function that compares_identity?"""
    return value is operator.is_ or value is operator.is_not


def _is_of_one_key(following):
    """Do these instructions take one item of the dictionary that was just loaded?"""
    names = [instruction.opname for instruction in following]
    if not names:
        return False
    if names[0] in _LOADS_ATTRIBUTE:
        return following[0].argval in _OF_ONE_KEY
    return names[0] == "CONTAINS_OP" or len(names) > 1 and (
        names[1] in ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR") or following[1].argrepr == "[]")


def asks_by_text(code, is_pytorchs):
    """May it read an attribute under a name that comes as a value?"""
    asks = asking_by_text(is_pytorchs)
    return any(not asks.isdisjoint(each.co_names) for each in code_inside(code))


def asking_by_text(is_pytorchs):
    """Names of what does that."""
    return (_READ_BY_TEXT_IN_PYTORCH if is_pytorchs else _READ_BY_TEXT) | _READ_BY_TEMPLATE


def takes_by_place(code):
    """May it take an attribute by its place in a pattern of a class, which knows the name?"""
    return any(
        instruction.opname == "MATCH_CLASS" and instruction.arg
        for each in code_inside(code) if _MATCHES_CLASS in each.co_code for instruction in all_of(each))


def reads_variables_unnamed(code):
    """May it read a variable without naming it?"""
    return any(
        instruction.opname in _LOADS_GLOBAL and instruction.argval in READERS_OF_VARIABLES
        for each in code_inside(code) if not READERS_OF_VARIABLES.keys().isdisjoint(each.co_names)
        for instruction in all_of(each))


def asks_for_hashes(code):
    """May it let out a hash? A usual __hash__ gives it to what looks things up, which lets it out of no container but a
    set (makes_sets). Another one may keep it, or make one that many objects have: which of them are compared hangs on it."""
    return any(
        instruction.opname in _LOADS_GLOBAL and instruction.argval == "hash"
        or instruction.opname in (*_LOADS_ATTRIBUTE, "LOAD_SUPER_ATTR") and instruction.argval in _HASHES
        or instruction.opname == "LOAD_CONST" and instruction.argval == "__hash__"  # It may be asked for by text.
        for each in code_inside(code) if not gives_its_hash_alone(each) for instruction in all_of(each)) or any(
        "hash" in (*each.co_varnames[:each.co_argcount + each.co_kwonlyargcount], *each.co_freevars) for each in code_inside(code))


def gives_its_hash_alone(code):
    """Is it a __hash__ that asks for one hash and returns it, as those that data classes get? It hands that to nothing else."""
    if code.co_name != "__hash__":
        return False
    instructions = [instruction for instruction in all_of(code) if instruction.opname not in _BEFORE_ANY]
    loads = [instruction.argval for instruction in instructions if instruction.opname.startswith("LOAD_")]
    return loads[:1] == ["hash"] and loads.count("hash") == 1 and (
        sum(instruction.opname == "CALL" for instruction in instructions) == 1) and all(
        instruction.opname.startswith("LOAD_") or instruction.opname in _OF_ONE_CALL for instruction in instructions)


def makes_sets(code):
    """May it make a set, but for asking whether something is in it?"""
    for each in code_inside(code):
        instructions = effective_of(each)
        if not VIEWS.isdisjoint(each.co_names) and _combines(each, instructions):
            return True  # Of keys.
        for instruction, following in zip(instructions, [*instructions[1:], None]):
            makes = instruction.opname in ("BUILD_SET", "SET_ADD", "SET_UPDATE") or (
                instruction.opname == "LOAD_CONST" and has_no_order(instruction.argval)) or (
                instruction.opname in _LOADS_GLOBAL and instruction.argval in ("set", "frozenset"))
            if makes and (following is None or following.opname != "CONTAINS_OP"):
                return True
    return False


def combines(code):
    """May it combine two sets, or views of keys, to another one?"""
    return any(_combines(each, effective_of(each)) for each in code_inside(code))


def _combines(code, instructions):
    return not (COMBINING | _OPERATORS).isdisjoint(code.co_names) or any(
        instruction.opname == "BINARY_OP" and instruction.argrepr in _OF_SETS for instruction in instructions)


def takes_exceptions(code):
    """May it look at what was raised?"""
    for each in code_inside(code):
        instructions = [
            instruction.opname for instruction in effective_of(each) if not instruction.opname.startswith(_BRANCHES)]
        if each.co_name in _GIVEN_EXCEPTIONS or "CHECK_EG_MATCH" in instructions or any(
                name == "CHECK_EXC_MATCH" and following.startswith("STORE_")
                for name, following in zip(instructions, instructions[1:])):
            return True
    return False


def catches(code):
    """May it go on after something was not found: it was raised, or a pattern of a mapping did not match?"""
    return any(
        instruction.opname in _GO_ON for each in code_inside(code) for instruction in all_of(each))


def is_ordered_by_history(value):
    """Does the order of this set say in which order it was filled, and nothing of the seed of hashes? Numbers lie where
    their values and what came before leave room; what is not a number, by its address."""
    return all(type(item) in _NUMBERS and item == item for item in value)


def has_no_order(value):
    """Is it a set whose order the seed of hashes, or addresses, decide, or one that holds such a set?"""
    return isinstance(value, (set, frozenset)) and not is_ordered_by_history(value) and (
        len(value) > 1 or any(_holds_no_order(each) for each in value))


def _holds_no_order(value):
    """Of what may lie in a set."""
    return has_no_order(value) or isinstance(value, tuple) and any(_holds_no_order(each) for each in value)


def is_plain_set(value):
    """Is it a set of Python's own, without what a subclass makes of it?"""
    return type(value) in (set, frozenset)


def is_sortable(value):
    """Of what is in this set, does one always come before the other?"""
    return all(isinstance(item, str) for item in value) or all(
        isinstance(item, (int, float)) and item == item for item in value)


def is_ordered_by_address(value):
    return has_no_order(value) and not all(_is_hashed_by_value(each) for each in value)


def _is_hashed_by_value(value):
    return isinstance(value, (int, float, str, bytes)) or type(value) in (tuple, frozenset) and all(
        _is_hashed_by_value(each) for each in value)


def names_in_code(code):
    """Of attributes and variables."""
    return frozenset().union(*(
        (*each.co_names, *each.co_varnames, *each.co_freevars, *each.co_cellvars) for each in code_inside(code)))


def texts_in_code(code):
    return set().union(*(texts_in(each.co_consts) for each in code_inside(code)))


def texts_in(value, depth=0):
    """Texts in a constant, or in plain data, that may be names, and names in templates: "{0.name}"."""
    kind = type(value)
    if kind is str:
        if value.isidentifier():
            return {value}
        return set(_ATTRIBUTE_IN_TEMPLATE.findall(value)) if "{" in value else set()
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
    instructions = effective_of(code)
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


def keys_read(code, mappings, functions):
    """(constants, names of globals) that the code, without code in it, looks up in these; None if it does anything else
    with them. `mappings`: names of them; `functions`: of what takes a key first."""
    instructions = effective_of(code)
    keys = [
        _key_of(instructions, place, instruction.argval in functions)
        for place, instruction in enumerate(instructions)
        if instruction.opname in (*_LOADS_GLOBAL, *_LOADS_ATTRIBUTE) and instruction.argval in (*mappings, *functions)]
    if not all(key is not None and key.opname in ("LOAD_CONST", "LOAD_GLOBAL") for key in keys):
        return None
    return tuple({key.argval for key in keys if key.opname == name} for name in ("LOAD_CONST", "LOAD_GLOBAL"))


def _key_of(instructions, place, is_function):
    """The instruction that gives the key to the mapping or the function loaded at `place`; None for other uses."""
    following = instructions[place + 1:place + 4]
    names = [instruction.opname for instruction in following]
    if is_function:
        return following[0] if following else None
    if names and names[0] in _LOADS_ATTRIBUTE and following[0].argval == "get":
        return following[1] if len(following) > 1 else None
    if names and names[0] == "CONTAINS_OP":
        start = place
        while start and instructions[start].opname in _LOADS_ATTRIBUTE:
            start -= 1
        return instructions[start - 1] if start else None
    if len(names) > 1 and (names[1] == "BINARY_SUBSCR" or following[1].argrepr == "[]"):
        return following[0]
    return None


def _adds(instruction):
    """`%` and `+` make texts, too."""
    return instruction.opname == "BINARY_OP" and instruction.argrepr in ("%", "%=", "+", "+=")


__all__ = [
    "ALL", "COMBINING", "READERS_OF_VARIABLES", "VIEWS", "asking_by_text", "asks_by_text", "asks_for_hashes",
    "asks_for_identity", "calls_for_class", "catches", "chains_of", "code_inside", "combines", "compares_identity", "enumerates", "fills_templates",
    "gives_its_hash_alone", "has_no_order", "imports_of", "is_ordered_by_address",
    "is_ordered_by_history", "is_plain_set", "is_sortable", "keys_read", "makes_sets", "makes_text", "names_in_code",
    "names_of", "reads_variables_unnamed", "states_class", "takes_by_place", "takes_exceptions", "texts_in", "texts_in_code", "together"]
