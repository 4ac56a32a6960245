"""What code does, whatever else stands in it: Dynamo's code that goes on after a break holds all of what it goes on from."""

import dis

_ENDS = frozenset((
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT"))
_PADDING = ("EXTENDED_ARG", "CACHE", "NOP")


def reached(code):
    """Texts of the instructions that may run, in the order in which they stand. Locals are numbered as they come up, after the
    arguments; a jump names the instruction that it goes to, counted from the first, and each the one that its exceptions
    go to."""
    instructions = [each for each in dis.get_instructions(code) if each.opname not in _PADDING]
    after = _places_after(instructions, len(code.co_code))
    jumps = {
        place: after[instruction.argval] for place, instruction in enumerate(instructions)
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs}
    handlers = {
        place: (after[entry.target], entry.depth, entry.lasti)
        for entry in dis.Bytecode(code).exception_entries for place in range(after[entry.start], after[entry.end])}
    order = {place: number for number, place in enumerate(sorted(_run(instructions, jumps, handlers)))}
    known = {name: number for number, name in enumerate(code.co_varnames[:_count_of_arguments(code)])}
    return [_shown(instructions[place], place, jumps, handlers, order, known) for place in order]


def _places_after(instructions, end):
    """{offset: the place of the first instruction that stands there or later}"""
    places, place = {}, 0
    for offset in range(0, end + 2, 2):
        while place < len(instructions) and instructions[place].offset < offset:
            place += 1
        places[offset] = place
    return places


def _run(instructions, jumps, handlers):
    """The places that may be come to."""
    found, waiting = set(), [0]
    while waiting:
        place = waiting.pop()
        if place in found or place >= len(instructions):
            continue
        found.add(place)
        if instructions[place].opname not in _ENDS:
            waiting.append(place + 1)
        if place in jumps:
            waiting.append(jumps[place])
        if place in handlers:
            waiting.append(handlers[place][0])
    return found


def _count_of_arguments(code):
    return code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)


def _shown(instruction, place, jumps, handlers, order, known):
    parts = [instruction.opname]
    if place in jumps:
        parts.append(f"to {order.get(jumps[place])}")
    elif instruction.opcode in dis.haslocal:
        names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        parts += [f"local {known.setdefault(name, len(known))}" for name in names]
    elif instruction.arg is not None:
        parts.append(instruction.argrepr or str(instruction.arg))
    if place in handlers:
        target, depth, with_place = handlers[place]
        parts.append(f"(an exception goes to {order[target]}, {depth} deep{', with its place' * with_place})")
    return " ".join(parts)
