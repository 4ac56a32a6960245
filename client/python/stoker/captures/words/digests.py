"""Digests of texts and of code objects. File names do not count, nor do line numbers, but where code asks for them:
moving code changes nothing."""

import dis
import hashlib
import marshal
import re
import types

from ...base.signals import let_through
from ...pytorch import installation
from ..bytecode.reads import is_ordered_by_history
from .installed import is_installed_file
from .numbers import float_words, is_nan

_DIGITS = 24

# What the body of a class stores about its source from CPython 3.13 on: where it begins, and names in an order
# that the hash seed decides in the first releases.
_SOURCE_NAMES = frozenset(("__firstlineno__", "__static_attributes__"))

_HAS_DOCUMENTATION = 1 << 26  # CO_HAS_DOCSTRING, of co_flags from CPython 3.13 on.
_LOADS_CONSTANT = re.compile(b"[%s]" % b"".join(re.escape(bytes((opcode,))) for opcode in dis.hasconst if opcode < 256))

_MAY_HOLD_SETS = frozenset((frozenset, tuple))
_PLAIN = frozenset((str, int, bool, bytes, type(None)))  # Constants that are what their text says.

_code_digests = {}  # (id, orders, lines) -> (code, digest): code objects compare by content, which is slow.


def digest_of(*parts):
    """Of texts and bytes, each preceded by its length."""
    pieces = []
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        pieces += b"%d:" % len(data), data
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:_DIGITS]


def code_digest(code, orders=False, lines=False):
    """`orders`: whether the order of a set in its constants counts; `lines`: whether its place in its file does."""
    known = _code_digests.get((id(code), orders, lines))
    if known is None:
        # PyTorch's own digest is in the key, and takes no time.
        digest = installation.place_of(code) or _of_package(code, orders, lines) or _of_program(code, orders, lines)
        known = _code_digests[id(code), orders, lines] = (code, digest)
    return known[1]


def _of_package(code, orders, lines):
    """Of all that code in an installed file says, its documentation too, which changes with the package's version: this
    takes a tenth of the time. None where that does not say all, or what it should not."""
    constants = code.co_consts
    kinds = set(map(type, constants))
    if not is_installed_file(code.co_filename) or kinds & _MAY_HOLD_SETS and _has_set(constants) or (
            not _SOURCE_NAMES.isdisjoint(code.co_names)):
        return None
    if types.CodeType in kinds:
        constants = [code_digest(each, orders, lines) if type(each) is types.CodeType else each for each in constants]
    try:
        words = marshal.dumps((
            constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount,
            code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable,
            *((code.co_firstlineno, code.co_linetable) if lines else ())), installation.BY_VALUE)
    except ValueError as error:  # Code that was made with such a constant as no source has.
        let_through(error)
        return None
    return digest_of(words, code.co_code)


def _has_set(constants):
    return any(type(each) is frozenset or type(each) is tuple and _has_set(each) for each in constants)


def _of_program(code, orders, lines):
    if _SOURCE_NAMES.isdisjoint(code.co_names):
        instructions, constants = _by_use(code, orders, lines)
    else:
        instructions, constants = repr(_class_body(code, orders, lines)), ()
    return digest_of(
        instructions, code.co_exceptiontable, repr(constants),
        repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_HAS_DOCUMENTATION)),
        *((str(code.co_firstlineno), code.co_linetable) if lines else ()))


def _by_use(code, orders, lines):
    """(its instructions, without places of constants; the constants, where they load them). A text that none of them
    loads is its documentation, which moves the places of others: what reads that asks a function for it."""
    operations, arguments = code.co_code[::2], bytearray(code.co_code[1::2])
    words, constants = {}, []
    for found in _LOADS_CONSTANT.finditer(operations):
        at, place, shift = found.start(), 0, 0
        while True:
            place += arguments[at] << shift
            arguments[at] = 0
            if not at or operations[at - 1] != dis.EXTENDED_ARG:
                break
            at, shift = at - 1, shift + 8
        if place not in words:
            words[place] = _constant(code.co_consts[place], orders, lines)
        constants.append(words[place])
    return operations + arguments, constants


def _class_body(code, orders, lines):
    """Its instructions, without the values that it stores about its source. Constants stand where they are used:
    such a value may be one that something else uses too."""
    words = []
    for instruction in dis.get_instructions(code):
        name, argument = instruction.opname, instruction.arg
        if name == "EXTENDED_ARG":
            continue
        if name == "STORE_NAME" and instruction.argval in _SOURCE_NAMES:
            words.pop()
        if instruction.opcode in dis.hasconst:
            argument = _constant(instruction.argval, orders, lines)
        words.append((name, argument))
    return words


def _constant(constant, orders, lines):
    if type(constant) in _PLAIN:
        return (type(constant).__name__, repr(constant))
    if isinstance(constant, types.CodeType):
        return code_digest(constant, orders, lines)
    if isinstance(constant, frozenset):
        words = [repr(_constant(item, orders, lines)) for item in constant]
        return ("frozenset", words if orders or is_ordered_by_history(constant) else sorted(words))
    if isinstance(constant, tuple):
        return tuple(_constant(item, orders, lines) for item in constant)
    if is_nan(constant):
        return (type(constant).__name__, float_words(constant.real), float_words(constant.imag))
    return (type(constant).__name__, repr(constant))
