"""Code objects in our own format: plain values, names and bytecode. No pickle, no marshal.

Bytecode runs under the Python version that made it, which the key holds.
"""

import base64
import importlib
import sys
import types

from ..bytecode.instructions import all_of
from ..bytecode.reached import reached
from .digests import digest_of
from .generated import is_maker, maker_of
from .values import NotPortable, class_path, decode, encode, look_up

_NUMBERS = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize",
    "co_flags", "co_firstlineno")
_BYTES = ("co_code", "co_linetable", "co_exceptiontable")
_NAMES = ("co_names", "co_varnames", "co_freevars", "co_cellvars")
_TEXTS = ("co_name", "co_qualname")
_GLOBAL_OPERATIONS = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
_MAX_DEPTH = 16  # Of code in code.


def encode_code(code, rename, global_values):
    """`rename`: name of a global -> the name that it gets; `global_values`: of the frame that runs it."""
    fields = {name: getattr(code, name) for name in (*_NUMBERS, *_TEXTS)}
    for name in _BYTES:
        fields[name] = base64.b64encode(getattr(code, name)).decode()
    for name in _NAMES:
        fields[name] = list(getattr(code, name))
    fields["co_names"] = [rename.get(name, name) for name in code.co_names]
    fields["co_consts"] = [_encode_constant(constant, rename, global_values) for constant in code.co_consts]
    return fields


def _encode_constant(constant, rename, global_values):
    if isinstance(constant, types.CodeType):
        return {"code": encode_code(constant, rename, global_values)}
    if constant is global_values:  # Dynamo's code makes functions of them. What is in them is read when these run.
        return {"globals": None}
    if type(constant) is dict and (module := _module_of_globals(constant)) is not None:
        return {"globals": module}
    return {"maker": class_path(constant.__self__)} if is_maker(constant) else encode(constant)


def _module_of_globals(values):
    """The name of the module whose globals they are, or None."""
    name = values.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return name if isinstance(module, types.ModuleType) and vars(module) is values else None


def decode_code(fields, file_name, global_values, rename=None, depth=0):
    """Raises ValueError, KeyError or TypeError on what encode_code did not make. `rename`: names of globals -> other ones."""
    if depth > _MAX_DEPTH:
        raise ValueError("Code is nested too deeply.")
    values = {name: int(fields[name]) for name in _NUMBERS}
    values |= {name: str(fields[name]) for name in _TEXTS}
    values |= {name: base64.b64decode(fields[name], validate=True) for name in _BYTES}
    values |= {name: tuple(map(str, fields[name])) for name in _NAMES}
    values["co_names"] = tuple((rename or {}).get(name, name) for name in values["co_names"])
    values["co_consts"] = tuple(
        _decode_constant(constant, file_name, global_values, rename, depth) for constant in fields["co_consts"])
    return _template.__code__.replace(co_filename=file_name, **values)


def _decode_constant(constant, file_name, global_values, rename, depth):
    if isinstance(constant, dict) and "code" in constant:
        return decode_code(constant["code"], file_name, global_values, rename, depth + 1)
    if isinstance(constant, dict) and "globals" in constant:
        module = constant["globals"]
        return global_values if module is None else vars(importlib.import_module(module))
    if isinstance(constant, dict) and "maker" in constant:
        return maker_of(look_up(constant["maker"]))
    return decode(constant)


def what_it_does(fields, rename):
    """Texts, to compare: lines are left out, and names of locals. `rename`: name -> the name that is compared."""
    constants = [
        {"code": digest_of("\n".join(what_it_does(constant["code"], rename)))}
        if isinstance(constant, dict) and "code" in constant else constant for constant in fields["co_consts"]]
    code = decode_code({
        **fields, "co_names": [rename(name) for name in fields["co_names"]],
        "co_consts": [encode(str(constant)) for constant in constants]}, "", {})
    return [f"{code.co_argcount} arguments", *reached(code)]


def _template():
    """Gives the code object whose fields are replaced: its constructor differs between versions."""


def global_names(code):
    """Every name that the code, or code in it, reads from its globals. Dynamo's code lists many more."""
    names = {
        instruction.argval for instruction in all_of(code)
        if instruction.opname in _GLOBAL_OPERATIONS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return names


def attributes_of_global(code, name):
    """The attributes that the code reads from a global, in order of their names; "" for any other use. A local
    that holds the global and never anything else counts as the global."""
    instructions = [
        instruction for instruction in all_of(code)
        if instruction.opname != "EXTENDED_ARG"]  # Of an instruction to come.
    copies = _locals_that_hold(instructions, name)
    found = set()
    for instruction, following in zip(instructions, [*instructions[1:], None]):
        is_global = _loads_global(instruction, name)
        if not is_global and (
                instruction.opname not in _LOADS_LOCAL or instruction.argval not in copies):
            continue
        if following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.add(following.argval)
        elif not (is_global and _stores_to(following, copies)):
            found.add("")
    for instruction in instructions:  # Several locals in one instruction: not told apart.
        if isinstance(instruction.argval, tuple) and copies.intersection(instruction.argval):
            found.add("")
    return sorted(found)


_LOADS_LOCAL = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "LOAD_FAST_BORROW")


def _loads_global(instruction, name):
    return instruction.opname == "LOAD_GLOBAL" and instruction.argval == name


def _stores_to(instruction, names):
    return (
        instruction is not None and instruction.opname == "STORE_FAST"
        and instruction.argval in names)


def _locals_that_hold(instructions, name):
    """Locals that are assigned to once, from the global."""
    stored, copies = [], set()
    for before, instruction in zip([None, *instructions], instructions):
        if instruction.opname.startswith("STORE_FAST"):
            argument = instruction.argval
            stored += argument if isinstance(argument, tuple) else [argument]
            if before is not None and _loads_global(before, name):
                copies.add(argument)
    return {copy for copy in copies if stored.count(copy) == 1}


__all__ = [
    "NotPortable", "attributes_of_global", "decode_code", "encode_code", "global_names", "what_it_does"]
