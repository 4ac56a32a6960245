"""Code whose reads are all in sight: what it reads bears names that stand in the code, and it changes nothing.

Of code that runs in place of being traced no guard knows what it read. Where it keeps to few instructions and asks for
nothing by a name that it makes, this follows from the code: globals, outer variables, and attributes by their names.
"""

import builtins
import dis
import re
import sys
import types
from typing import NamedTuple

from .asked_names import effect_of, instructions_of, name_asked
from .reads import code_inside, compares_identity

# What an operation of the language calls: asking for one of these by its name is no more than that.
SPECIAL_METHODS = frozenset(f"__{name}__" for name in """
    abs add aenter aexit and bool bytes call ceil complex contains delitem divmod enter eq exit float floor floordiv format
    ge get getitem gt hash iadd iand ifloordiv ilshift imod imul index init instancecheck int invert ior ipow irshift isub
    iter itruediv ixor le len length_hint lshift lt missing mod mul ne neg new next or pos post_init pow radd rand rdivmod
    repr reversed rfloordiv rlshift rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str sub
    subclasscheck subclasshook truediv trunc xor class_getitem""".split())
_ASKED = SPECIAL_METHODS | {"__class__", "__name__", "__qualname__", "__members__"} - {"__hash__"}
# Of frames, and of a class: they lead to all there is.
_LEADING_OUT = re.compile(r"(f|gi|cr|ag|tb)_(back|builtins|code|frame|globals|lasti|lineno|locals|next)$|mro$|format_map$|with_traceback$|encode$|decode$")
_BY_TEXT = ("getattr", "hasattr")
_MAKES = re.compile(r"\{([^{}]*)[.\[]")  # A template that reads attributes or items.

_ALLOWED = re.compile(r"""
    (LOAD_(FAST|CONST|SMALL_INT|GLOBAL|ATTR|METHOD|DEREF|CLOSURE|SUPER_ATTR|COMMON_CONSTANT|ASSERTION_ERROR|SPECIAL|ZERO|NULL)
    |STORE_(FAST|ATTR|SUBSCR|SLICE|DEREF)|MAKE_(CELL|FUNCTION)|COPY|SET_|CALL|PRECALL|KW_NAMES|PUSH_|RESUME|CACHE|NOP|NOT_TAKEN
    |EXTENDED_ARG|POP_|SWAP|BINARY_|COMPARE_OP|CONTAINS_OP|IS_OP|UNARY_|TO_BOOL|BUILD_|LIST_|DICT_|MAP_ADD|FORMAT_
    |CONVERT_VALUE|UNPACK_|GET_ITER|FOR_ITER|END_|GET_LEN|JUMP|RETURN_|YIELD_VALUE|GEN_START|SEND|GET_YIELD|RAISE|RERAISE
    |CHECK_|MATCH_(SEQUENCE|MAPPING|KEYS)|DELETE_FAST|BEFORE_WITH|WITH_EXCEPT|INTERPRETER_EXIT|ROT_|DUP_|NB_)""", re.VERBOSE)
_JUMPS = ("JUMP", "POP_JUMP", "FOR_ITER", "SEND")
_STORES_ITEMS = ("STORE_SUBSCR", "STORE_SLICE")
_MUTATING = frozenset("""
    add append appendleft clear difference_update discard extend extendleft insert intersection_update pop popitem popleft
    remove reverse rotate setdefault sort symmetric_difference_update update move_to_end __setitem__ __delitem__ __iadd__
    __ior__ __iand__ __ixor__ __isub__ __imul__ __setattr__ __delattr__""".split())
_COMPUTING = (
    "BINARY_", "COMPARE_OP", "CONTAINS_OP", "UNARY_NEG", "UNARY_INV", "UNARY_POS", "GET_", "UNPACK_", "FORMAT_", "CONVERT_", "LIST_EXTEND",
    "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE", "MATCH_", "BEFORE_WITH", "LOAD_SPECIAL", "CALL_FUNCTION_EX")
_DECIDING = ("POP_JUMP", "JUMP_IF", "TO_BOOL", "UNARY_NOT")
_ASKING = ("hasattr", "getattr", "isinstance", "issubclass", "type", "super", "callable", "object", "property")
OBJECT = "__dataclass_builtins_object__"  # What a data class calls it, among the outer variables of its functions.
MAKES_OBJECTS = ("__init__", "__post_init__")
_DECODING = ("str", "bytes")
_CALLING = ("map", "filter", "sorted", "min", "max", "iter", "property", "staticmethod", "classmethod", "sum")
# What these give has a text of its address alone.
_WITHOUT_TEXTS = frozenset(("object", "iter"))
_TEXTS_OF_VALUES = ("str", "repr", "format", "ascii", "bytes")
_MAKING_TEXTS = ("FORMAT_", "CONVERT_VALUE")
_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


_OF_PYTHON = (object, int, str, float, complex, bytes, tuple, list, dict, set, frozenset, range, slice, type(None))
_METHODS_OF_PYTHON = frozenset(
    name for cls in _OF_PYTHON for name in dir(cls) if callable(getattr(cls, name)) and name != "__class__")


class OutOfSight(Exception):
    """Why not all that code reads is in sight."""


class Reads(NamedTuple):
    """Of a code object and all code in it."""

    chains: tuple  # Global names, each with the attributes read from it at once: tuples of names, in order.
    names: frozenset  # Of attributes,
    asked: frozenset  # and those of them of which it asks only whether they are there.
    may_change: bool  # May it change a container, or an attribute, that somebody else holds?
    computes: bool  # May it do more with a value than pass it on, or ask for its attributes and its class?
    calls: bool  # May it call what is no global and no attribute?
    makes_texts: bool  # Of any value, so that its address might show?
    stores: bool  # Does it set attributes of its first argument, or have a base do that?
    makes_addresses: bool  # May it have functions, or methods of Python's, as values, whose texts hold addresses?
    compares_identity: bool  # May it ask whether two values are one object?
    values: frozenset  # Globals that it does not just call,
    taken: frozenset  # and such names of attributes.
    own: frozenset  # Names of attributes that it reads of its first argument alone, and of what these lead to.


def reads_of(code):
    """OutOfSight, with the reason, where the code may do something else."""
    found = _Found()
    for each in code_inside(code):
        instructions = instructions_of(each)
        for place, instruction in enumerate(instructions):
            _require_allowed(each, instruction, instructions[place - 1])
            found.add(each, instructions, place, is_whole=each is code)
    return Reads(
        tuple(found.chains), frozenset(found.names | found.asked), frozenset(found.asked - found.names),
        not _MUTATING.isdisjoint(found.names) or found.changes, found.computes, found.calls, found.makes_texts, found.stores,
        found.makes_addresses, compares_identity(code), frozenset(found.values), frozenset(found.taken),
        frozenset(found.of_first - found.of_others - found.asked))


class _Found:
    """What reads_of() has seen so far."""

    def __init__(self):
        self.chains, self.names, self.asked, self.values, self.taken = {}, set(), set(), set(), set()
        self.of_first, self.of_others = set(), set()
        self.changes = self.computes = self.calls = self.makes_texts = self.stores = self.makes_addresses = False

    def add(self, code, instructions, place, is_whole):
        """`is_whole`: is it the function's own code, and none in it?"""
        instruction = instructions[place]
        name = instruction.opname
        if name == "LOAD_GLOBAL":
            self._add_global(instructions, place)
        elif name.startswith(_LOADS_ATTRIBUTE):
            names = _attribute_at(code, instructions, place)
            self.names.update(names)
            owner = _owner_at(instructions, place)
            is_of_first = is_whole and bool(code.co_varnames) and _loads_first(code, owner)
            (self.of_first if is_of_first else self.of_others).update(names)
            if not (name == "LOAD_METHOD" or _is_of_a_call(instruction)):
                self.taken.update(names)
        self.changes |= name in _STORES_ITEMS or name == "BINARY_OP" and instruction.argrepr.endswith("=")
        self.computes |= name.startswith(_COMPUTING) or name.startswith(_DECIDING) and instructions[
            place - 1].opname.startswith("LOAD_FAST") or name.startswith(_LOADS_ATTRIBUTE) and instruction.argval in SPECIAL_METHODS
        self.calls |= name in ("PUSH_NULL", "CALL_FUNCTION_EX") or name == "CALL" and instructions[
            place - 1].opname == "MAKE_FUNCTION" or instruction.argval == "__call__"
        self.makes_texts |= name.startswith(_MAKING_TEXTS) or name == "BINARY_OP" and instruction.argrepr in ("%", "%=")
        self.makes_addresses |= name == "MAKE_FUNCTION" and not _is_called_at_once(instructions, place) or (
            name == "LOAD_ATTR" and instruction.argval in _METHODS_OF_PYTHON and not _is_of_a_call(instruction))
        self.stores |= name == "STORE_ATTR" or instruction.argval in (*MAKES_OBJECTS, "__setattr__")

    def _add_global(self, instructions, place):
        instruction = instructions[place]
        name = instruction.argval
        self.chains[_chain_at(instructions, place)] = None
        if not instruction.arg & 1:  # It is not what is called at once.
            self.values.add(name)
        if name in _DECODING and _takes_a_codec(instructions, place):
            raise OutOfSight("code that runs untraced asks a codec")
        if name in _BY_TEXT:
            text = _text_asked(instructions, place)
            (self.asked if name == "hasattr" else self.names).add(text)
            self.taken.add(text)
            self.of_others.add(text)
        self.computes |= hasattr(builtins, name) and name not in _ASKING
        self.calls |= name in _CALLING
        self.makes_texts |= name in _TEXTS_OF_VALUES
        self.makes_addresses |= name in _WITHOUT_TEXTS


def _is_called_at_once(instructions, place):
    """Of a function that is made there: is it a comprehension's, or a generator's?"""
    codes = [before.argval for before in instructions[max(place - 2, 0):place] if isinstance(before.argval, types.CodeType)]
    return bool(codes) and codes[-1].co_name.startswith("<") and codes[-1].co_name != "<lambda>"


def _is_of_a_call(instruction):
    """Does it load a method that is called then? CPython 3.11 has another instruction for that."""
    return sys.version_info >= (3, 12) and bool(instruction.arg & 1)


def _require_allowed(code, instruction, before):
    name = instruction.opname
    if not _ALLOWED.match(name) or name == "STORE_DEREF" and instruction.argval in code.co_freevars:
        raise OutOfSight(f"{code.co_qualname} runs untraced and does {name}")
    if name == "STORE_ATTR" and not (code.co_name in MAKES_OBJECTS and _loads_first(code, before)):
        raise OutOfSight(f"{code.co_qualname} runs untraced and sets an attribute")


def _loads_first(code, instruction):
    """Does it load the first argument, last, which is never another object?"""
    first = code.co_varnames[0]
    return "LOAD_FAST" in instruction.opname and _variables(instruction)[-1] == first and not any(
        each.opname.startswith("STORE_FAST") and first in _variables(each) for each in dis.get_instructions(code))


def _variables(instruction):
    """Names of those that it loads or stores: from CPython 3.13 on it may be two of them."""
    return instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)


def _chain_at(instructions, place):
    names = [instructions[place].argval]
    for instruction in instructions[place + 1:]:
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        names.append(instruction.argval)
    return tuple(names)


def _owner_at(instructions, place):
    """What loads the value from which attributes, one after the other, are read up to that place."""
    while instructions[place].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        place -= 1
    return instructions[place]


def _attribute_at(code, instructions, place):
    name = instructions[place].argval
    if isinstance(name, tuple):
        name = name[-1]
    if name == "format":
        before = instructions[place - 1]
        if before.opname != "LOAD_CONST" or type(before.argval) is not str or _MAKES.search(before.argval):
            raise OutOfSight("a template that code fills which runs untraced")
    elif name == "__setattr__" and _fills_first(code, instructions, place):
        return ()
    elif name in MAKES_OBJECTS and not (code.co_name == name and _is_of_super(instructions, place) or _goes_on(
            code, instructions[place - 1], name)):
        raise OutOfSight(f"code that runs untraced reads {name}")
    elif _LEADING_OUT.match(name) or name.startswith("__") and name.endswith("__") and name not in _ASKED:
        raise OutOfSight(f"code that runs untraced reads {name}")
    return (name,)


def _fills_first(code, instructions, place):
    """Does it set an attribute of the first argument, as the data class does that is frozen?"""
    loaded, filled = instructions[place - 1], instructions[place + 1]
    return code.co_name == "__init__" and loaded.opname == "LOAD_DEREF" and loaded.argval == OBJECT and (
        not isinstance(filled.argval, tuple) and _loads_first(code, filled))


def _goes_on(code, before, name):
    """Does the `__init__` of a data class call what goes on to make the object?"""
    return code.co_name == "__init__" and name == "__post_init__" and _loads_first(code, before)


def _takes_a_codec(instructions, place):
    """Does a call of str() or bytes() get more than one argument, or may it?"""
    if not instructions[place].arg & 1:
        return False  # It is a value: a call of one is none that this knows.
    depth = 0
    for instruction in instructions[place + 1:]:
        name = instruction.opname
        if name in ("CALL", "CALL_KW") and depth == instruction.arg + (name == "CALL_KW"):
            return instruction.arg > 1
        if name.startswith(_JUMPS) or name == "CALL_FUNCTION_EX":
            break
        depth += effect_of(instruction)
    return True


def _is_of_super(instructions, place):
    """Is it an attribute of what `super()` gives?"""
    if instructions[place].opname == "LOAD_SUPER_ATTR":
        return True
    call, loaded = instructions[place - 1], instructions[place - 2]
    return place > 1 and call.opname == "CALL" and call.arg == 0 and loaded.argval == "super"


def _text_asked(instructions, place):
    """The constant that a call of getattr or hasattr gets as its second argument."""
    name = name_asked(instructions, place)
    if name is None or name.startswith("__") and name not in _ASKED or _LEADING_OUT.match(name) or (
            name == "format" or name in MAKES_OBJECTS):
        raise OutOfSight("code that runs untraced reads an attribute whose name it makes")
    return name
