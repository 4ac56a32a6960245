"""What code may run in place of being traced, and what it comes to."""

import enum
import functools

import pytest

from stoker.captures.bytecode.reads import names_in_code
from stoker.captures.premises.held_sets import Met
from stoker.captures.premises.unseen import cells_of, may_run, met_in

LETTERS = frozenset("abc")


def root():
    return helper() + 1


def helper():
    return later


def later():
    pass


def other():
    pass


def under_another_name():
    pass


class Box:
    __slots__ = ("names",)

    def __add__(self, value):
        return value

    def __init__(self, names=None):
        self.names = names


class Color(enum.Enum):
    RED = (LETTERS,)


def around(names, box):
    def inner():
        return names, box

    return inner


CODES = [function.__code__ for function in (helper, later, other, under_another_name, Box.__add__)]


def test_what_bears_a_name_that_code_says_may_be_run_by_it():
    held_as = {id(under_another_name.__code__): {"later"}}
    found = may_run([root.__code__], CODES, held_as, names_in_code)
    assert {code.co_name for code in found} == {"root", "helper", "later", "under_another_name", "__add__"}


def test_without_a_root_nothing_runs_untraced():
    assert may_run([], CODES, {}, names_in_code) == []


@pytest.mark.parametrize("value, name, is_variable", [
    ({"a": [LETTERS]}, "top", False), ({LETTERS: 1}, "top", False), (Box(LETTERS), "names", False),
    (around(LETTERS, 1), "names", True), (around(1, Box([LETTERS])), "names", False), (Box(LETTERS).__add__, "names", False),
    (functools.partial(other, LETTERS), None, False), (LETTERS.union, None, False), (Color.RED, "value", False),
    ({frozenset((LETTERS,))}, "top", False)])
def test_what_lies_in_a_value_has_the_name_that_leads_to_it(value, name, is_variable):
    assert Met(name, is_variable, LETTERS) in met_in([Met("top", False, value)])


def test_what_leads_to_itself_is_met_once():
    outer = Box()
    outer.names = [outer]
    assert len(met_in([Met("top", False, outer)])) == 3  # The box, its list, and the box under the list's name.


def test_what_a_function_holds():
    inner = around(LETTERS, 1)
    assert {met.name: met.value for met in cells_of(inner)} == {"names": LETTERS, "box": 1}
