"""The text by which code asks for an attribute, where it is a constant that stands in the call."""

import dis

from .instructions import all_of

_ASKING = ("getattr", "hasattr", "setattr", "delattr")  # The name comes second.
_NEUTRAL = ("CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "RESUME", "NOT_TAKEN")
_JUMPS = ("JUMP", "POP_JUMP", "FOR_ITER", "SEND")
_REORDER = ("SWAP", "ROT_")


def instructions_of(code):
    """Those that do something."""
    return [instruction for instruction in all_of(code) if instruction.opname not in _NEUTRAL]


def effect_of(instruction):
    """By how much the stack grows where no jump is taken."""
    if instruction.opname == "CALL":
        return -1 - instruction.arg  # CPython 3.11 does it with PRECALL.
    return dis.stack_effect(instruction.opcode, instruction.arg, jump=False)


def name_asked(instructions, place):
    """The text that the function loaded at `place` gets as its second argument, if it is called at once and this is a constant;
    else None."""
    if not instructions[place].arg & 1:
        return None  # It is a value.
    depth, name = 0, None  # Of the arguments on the stack; the second one.
    for instruction in instructions[place + 1:]:
        if instruction.opname.startswith((*_JUMPS, *_REORDER)):
            return None
        if instruction.opname == "CALL" and instruction.arg == depth:
            return name
        before, depth = depth, depth + effect_of(instruction)
        if depth < 1:
            return None
        if depth <= 2:  # Whatever was the second one is another one now, or was a part of the first.
            is_text = before == 1 and depth == 2 and instruction.opname == "LOAD_CONST" and type(instruction.argval) is str
            name = instruction.argval if is_text else None
    return None


def asks_by_constants(code, asking):
    """Are the names constants, wherever this code object itself uses one of the functions or attributes called `asking`?"""
    instructions = instructions_of(code)
    return all(
        instruction.opname == "LOAD_GLOBAL" and instruction.argval in _ASKING and name_asked(instructions, place) is not None
        for place, instruction in enumerate(instructions)
        if isinstance(instruction.argval, str) and instruction.argval in asking and instruction.opname != "LOAD_CONST")
