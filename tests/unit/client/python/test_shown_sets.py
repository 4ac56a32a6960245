"""Which sets count as those whose order code may let out."""

import builtins
import enum
import functools
import importlib.machinery
import importlib.util
import operator
import sys
import types

import pytest

from stoker.captures.premises.held_sets import Met
from stoker.captures.premises.reach import Reached
from stoker.captures.premises.shown_sets import met_by_guards, shown_sets
from stoker.captures.words import installed

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


def reached(*functions, met=()):
    return Reached([function.__code__ for function in functions], {}, set(), (), met)


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


def test_a_set_in_a_set_or_in_a_key_is_shown_with_what_holds_it():
    inner = frozenset(COLORS)
    for holder in ({inner}, {(1, inner)}):
        code = reached(in_turn)
        assert shown_sets(code, [ATTRIBUTE._replace(value=holder)])[1] == [holder]
        assert shown_sets(reached(asked), [ATTRIBUTE._replace(value=holder)]) == (False, [])
        assert shown_sets(reached(sorted_names), [ATTRIBUTE._replace(value=holder)])[1]
    assert shown_sets(reached(asked), [ATTRIBUTE._replace(value={"a": 1, inner: 2})])[1] == [inner]


class Named:
    __eq__ = lambda self, other: list(other) == ["red"]
    __hash__ = None
    isdisjoint = in_turn


def compared(box, other):
    return box.names == other


def disjoint(box, other):
    return other.isdisjoint(box.names)


def test_what_a_function_does_counts_under_every_name_that_a_class_gives_it():
    for function in (compared, disjoint):
        assert shown_sets(reached(function), [ATTRIBUTE]) == (False, [])
        assert shown_sets(reached(function, met=[object.__new__(Named)]), [ATTRIBUTE])[1], function


@pytest.mark.parametrize("maker", [set, Mine, set[str], functools.partial(frozenset, "abc"), staticmethod(set), set().union, set.union, {}.keys])
def test_what_makes_sets_under_another_name_may_show_their_order(maker):
    assert shown_sets(reached(said_nowhere), [Met("make", False, maker)])[0]


@pytest.mark.parametrize("name, value", [("set", set), ("iskeyword", frozenset("abc").__contains__), ("make", list)])
def test_what_code_says_for_what_it_is_or_asks_alone_makes_no_sets(name, value):
    assert shown_sets(reached(said_nowhere), [Met(name, False, value)]) == (False, [])


HELD = {"names": [frozenset("abc")]}


class Said(enum.Enum):
    ONE = 1

    def __str__(self):
        return said()


def said():
    return ",".join(HELD["names"][0])


def test_code_that_runs_untraced_may_show_what_no_guard_met():
    code = reached(asked, met=[Said.ONE])
    assert code.is_unseen(said.__code__) and not code.is_unseen(asked.__code__)
    assert HELD["names"][0] in shown_sets(code, [])[1]


PACKAGE = """
import enum

LETTERS = frozenset("abc")
HELD = [LETTERS]


class Said(enum.Enum):
    ONE = 1

    def __str__(self):
        return said()


def said():
    return RESULT
"""


@pytest.mark.parametrize("result, shown", [("''.join(HELD[0])", True), ("'a' if 'a' in LETTERS else 'b'", False)])
def test_what_a_package_runs_untraced_may_show_an_order(tmp_path, monkeypatch, result, shown):
    monkeypatch.setattr(installed, "_FOLDERS", (*installed._FOLDERS, str(tmp_path)))
    path = tmp_path / "made_package.py"
    path.write_text(PACKAGE.replace("RESULT", result))
    loader = importlib.machinery.SourceFileLoader("made_package", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("made_package", loader))
    monkeypatch.setitem(sys.modules, "made_package", module)
    loader.exec_module(module)
    assert shown_sets(reached(asked, met=[module.Said.ONE]), [])[1] == ([module.LETTERS] if shown else [])


def test_a_set_is_followed_from_attribute_to_attribute():
    assert shown_sets(reached(Registry.__init__, Registry.has), []) == (False, [])
    assert shown_sets(reached(Registry.__init__, Registry.has, Registry.in_turn), [])[0]
    assert shown_sets(reached(Setting.__init__, met=[object.__new__(Setting)]), [])[0]  # By a function that the assignment calls.


def test_a_set_has_the_name_that_code_reads_it_by():
    space, box, names = types.SimpleNamespace(names=COLORS), Box(), {"names": COLORS}
    nodes = [
        [-1, "local", "box"], [0, "attr", "names"], [-1, "global", "space"], [2, "attr", "names"],
        [-1, "local", "names"], [4, "item", "names"], [0, "type", None], [6, "typedict", None], [7, "item", "names"],
        [-1, "builtins", None], [9, "item", "getattr"]]
    values = [box, box.names, space, space.names, names, COLORS, Box, vars(Box), COLORS, vars(builtins), getattr]
    assert [met.name for met in met_by_guards(nodes, values)] == [
        "box", "names", "space", None, "names", None, None, "names", None, "getattr"]  # A namespace's text tells all that it holds.


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
