"""Code objects in our own format: plain values, names and bytecode. No pickle, no marshal.

Bytecode runs under the Python version that made it, which the key holds.
"""

import base64
import dis
import types

from .values import NotPortable, decode, encode

_NUMBERS = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize",
    "co_flags", "co_firstlineno")
_BYTES = ("co_code", "co_linetable", "co_exceptiontable")
_NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
_TEXTS = ("co_name", "co_qualname")
_GLOBAL_OPERATIONS = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
_MAX_DEPTH = 16  # Of code in code.


def encode_code(code, rename):
    """`rename`: name of a global -> the name that it gets."""
    fields = {name: getattr(code, name) for name in (*_NUMBERS, *_TEXTS)}
    for name in _BYTES:
        fields[name] = base64.b64encode(getattr(code, name)).decode()
    for name in _NAMES:
        fields[name] = list(getattr(code, name))
    fields["co_names"] = [rename.get(name, name) for name in code.co_names]
    fields["co_consts"] = [
        {"code": encode_code(constant, rename)} if isinstance(constant, types.CodeType)
        else encode(constant) for constant in code.co_consts]
    return fields


def decode_code(fields, file_name, depth=0):
    """Raises ValueError, KeyError or TypeError on what encode_code did not make."""
    if depth > _MAX_DEPTH:
        raise ValueError("Code is nested too deeply.")
    values = {name: int(fields[name]) for name in _NUMBERS}
    values |= {name: str(fields[name]) for name in _TEXTS}
    values |= {name: base64.b64decode(fields[name], validate=True) for name in _BYTES}
    values |= {name: tuple(map(str, fields[name])) for name in _NAMES}
    values["co_consts"] = tuple(
        decode_code(constant["code"], file_name, depth + 1)
        if isinstance(constant, dict) and "code" in constant else decode(constant)
        for constant in fields["co_consts"])
    return _template.__code__.replace(co_filename=file_name, **values)


def _template():
    """Gives the code object whose fields are replaced: its constructor differs between versions."""


def global_names(code):
    """Every name that the code, or code in it, reads from its globals. Dynamo's code lists many more."""
    names = {
        instruction.argval for instruction in dis.get_instructions(code)
        if instruction.opname in _GLOBAL_OPERATIONS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return names


def attributes_of_global(code, name):
    """The attributes that the code reads from a global, in order of their names; "" for any other use."""
    found, follows = set(), False
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":  # Of an instruction to come.
            continue
        if follows:
            is_read = instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
            found.add(instruction.argval if is_read else "")
        follows = instruction.opname == "LOAD_GLOBAL" and instruction.argval == name
    return sorted(found)


__all__ = [
    "NotPortable", "attributes_of_global", "decode_code", "encode_code", "global_names"]
