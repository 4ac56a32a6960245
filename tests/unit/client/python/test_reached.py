"""What code does, whatever else stands in it."""

import re
import types

import pytest
import torch._dynamo.bytecode_transformation as transformation

from stoker.captures.bytecode.reached import reached


def looped(items, limit):
    total = 0
    for item in items:
        if item > limit:
            continue
        try:
            total += item
        except TypeError:
            total = -1
    return total


def renamed(things, most):
    held = 0
    for thing in things:
        if thing > most:
            continue
        try:
            held += thing
        except TypeError:
            held = -1
    return held


def with_another_handler(items, limit):
    total = 0
    for item in items:
        if item > limit:
            continue
        try:
            total += item
        except TypeError:
            total = -2
    return total


def without_a_handler(items, limit):
    total = 0
    for item in items:
        if item > limit:
            continue
        total += item
    return total


def with_another_local(items, limit):
    total = 0
    for item in items:
        if item > total:
            continue
        try:
            total += item
        except TypeError:
            total = -1
    return total


def starting_after(code, count):
    """The code behind so many instructions that are never come to."""

    def change(instructions, options):
        never = [
            made for _ in range(count) for made in (
                transformation.create_instruction("LOAD_FAST", argval="limit"), transformation.create_instruction("POP_TOP"))]
        instructions[:] = [transformation.create_jump_absolute(instructions[0]), *never, *instructions]

    made = transformation.transform_code_object(code, change)
    return made[0] if isinstance(made, tuple) else made


def test_names_of_locals_do_not_count():
    assert reached(looped.__code__) == reached(renamed.__code__)


@pytest.mark.parametrize("other", [with_another_handler, without_a_handler, with_another_local])
def test_what_is_done_counts(other):
    assert reached(looped.__code__) != reached(other.__code__)


@pytest.mark.parametrize("count", [1, 200])  # Beyond 256 bytes a jump takes an EXTENDED_ARG.
def test_what_is_never_come_to_does_not_count(count):
    code = starting_after(looped.__code__, count)
    assert types.FunctionType(code, globals())([1, 5, 2], 3) == 3
    assert len(code.co_code) > len(looped.__code__.co_code)
    assert reached(code)[1:] == moved(reached(looped.__code__))


def moved(texts):
    """Each place is one further, behind the jump."""
    return [re.sub(r"(?<=to )\d+", lambda found: str(int(found[0]) + 1), text) for text in texts]
