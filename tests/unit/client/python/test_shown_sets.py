"""Which sets count as those whose order code may let out."""

import builtins
import operator
import types

import pytest

from stoker.captures.premises.held_sets import Met
from stoker.captures.premises.reach import Reached
from stoker.captures.premises.shown_sets import met_by_guards, shown_sets

COLORS = {"red", "green", "blue"}
ATTRIBUTE = Met("names", False, COLORS)
GET = operator.attrgetter("names")
ASK, WHICH = getattr, "names"


class Mine(set):
    pass


class Box:
    __slots__ = ("names", "copy")
    __match_args__ = ("names",)

    def __init__(self):
        self.names = set("abc")
        self.copy = self.names


READ_SLOT = Box.names


class Registry:
    def __init__(self):
        self.known = set("abc")
        self.other = self.known
        self.listed = []

    def has(self, name):
        return name in self.known

    def in_turn(self):
        return list(self.other)

    @property
    def known_by_setter(self):
        return self.listed

    @known_by_setter.setter
    def known_by_setter(self, value):
        self.listed = list(value)


class Setting(Registry):
    def __init__(self):
        self.known_by_setter = set("abc")


def asked(box):
    return "a" in box.names


def made(box):
    return asked(box) and bool(set(box))


def in_turn(box):
    return asked(box) and [name for name in box.names]


def by_text(box):
    return asked(box) and getattr(box, "names")


def by_a_getter(box):
    return asked(box) and GET(box)


def by_another_name(box):
    return asked(box) and ASK(box, WHICH)


def by_a_slot(box):
    return asked(box) and READ_SLOT.__get__(box)


def by_place(box):
    match box:
        case Box(found):
            return asked(box) and found


def by_name_in_a_pattern(box):
    match box:
        case Box(names=found):
            return asked(box) and found


def of_variables(box):
    names = box.names
    return asked(box) and locals()["names"]


def said_nowhere(box):
    return box.others()


def sorted_names(box):
    return sorted(box.names)


def made_by_a_subclass(box):
    return list(Mine("abc"))


def reached(*functions, types_met=()):
    return Reached([function.__code__ for function in functions], {}, set(), (), set(types_met))


@pytest.mark.parametrize("function", [asked, made])
def test_a_set_whose_attribute_is_only_asked_is_not_shown(function):
    assert shown_sets(reached(function), [ATTRIBUTE]) == (False, [])


@pytest.mark.parametrize("function", [
    in_turn, by_text, by_a_getter, by_another_name, by_a_slot, by_place, by_name_in_a_pattern, of_variables, said_nowhere])
def test_a_set_that_code_may_come_to_otherwise_is_shown(function):
    makes, found = shown_sets(reached(function), [ATTRIBUTE])
    assert found and all(value is COLORS for value in found), (makes, found)


def test_what_a_subclass_makes_of_a_set_may_show_its_order():
    assert shown_sets(reached(asked), [ATTRIBUTE._replace(value=Mine(COLORS))])[1]
    assert shown_sets(reached(made_by_a_subclass), [])[0]


def test_what_cannot_be_sorted_may_show_its_order():
    """Of two sets, neither need come before the other."""
    code = reached(sorted_names)
    assert shown_sets(code, [ATTRIBUTE]) == (False, [])
    for values in ({frozenset("a"), frozenset("b")}, {float("nan"), 1.0}):
        assert shown_sets(code, [ATTRIBUTE._replace(value=values)])[1]


def test_a_set_is_followed_from_attribute_to_attribute():
    assert shown_sets(reached(Registry.__init__, Registry.has), []) == (False, [])
    assert shown_sets(reached(Registry.__init__, Registry.has, Registry.in_turn), [])[0]
    assert shown_sets(reached(Setting.__init__, types_met=[Setting]), [])[0]  # By a function that the assignment calls.


def test_a_set_has_the_name_that_code_reads_it_by():
    space, box, names = types.SimpleNamespace(names=COLORS), Box(), {"names": COLORS}
    nodes = [
        [-1, "local", "box"], [0, "attr", "names"], [-1, "global", "space"], [2, "attr", "names"],
        [-1, "local", "names"], [4, "item", "names"], [0, "type", None], [6, "typedict", None], [7, "item", "names"],
        [-1, "builtins", None], [9, "item", "getattr"]]
    values = [box, box.names, space, space.names, names, COLORS, Box, vars(Box), COLORS, vars(builtins), getattr]
    assert [met.name for met in met_by_guards(nodes, values)] == [
        "box", "names", "space", None, "names", None, None, None, "names", None, "getattr"]  # A namespace's text tells all that it holds.


def said_text(box):
    return asked(box) and hasattr(box, "other") and "{0.more} {1}".format(box, 1)


def said_texts_name(box):
    return asked(box) and getattr(box, "names")


def unsaid_text(box, text):
    return asked(box) and hasattr(box, text)


def unsaid_template(box, text):
    return asked(box) and text.format(box)


def test_a_text_that_names_an_attribute_shows_the_set_under_it_alone():
    assert shown_sets(reached(said_text), [ATTRIBUTE]) == (False, [])
    for function in (said_texts_name, unsaid_text, unsaid_template):
        assert shown_sets(reached(function), [ATTRIBUTE])[1], function
