"""Which sets classes and defaults of arguments hold, by the names under which code finds them."""

import enum

from stoker.captures.premises.held_sets import sets_of_classes, sets_of_defaults

LETTERS = frozenset("abc")


class Base:
    inherited = set("de")
    one = {"a"}  # Which has no order,
    numbers = {1, 2, 3}  # nor have these another one elsewhere.


class Holder(Base):
    own = LETTERS
    table = {"first": (1, [LETTERS])}

    class Kind(enum.Enum):
        ALL = LETTERS


class Members(enum.Enum):
    ONE = ("of its own", LETTERS)

    def __init__(self, _, letters):
        self.letters = letters


def of_defaults(first, second=LETTERS, *, third=(set("fg"),), fourth=1):
    pass


def test_what_classes_hold_is_found_by_name():
    found = sets_of_classes([Holder])
    assert {name: found.get(name) for name in ("inherited", "one", "numbers", "own", "table", "ALL")} == {
        "inherited": [set("de")], "one": None, "numbers": None, "own": [LETTERS], "table": [LETTERS], "ALL": [LETTERS]}


def test_what_members_hold_is_found_under_the_names_of_its_own():
    found = sets_of_classes([Members])
    assert {name: found.get(name) for name in ("ONE", "value", "_value_", "letters")} == dict.fromkeys(
        ("ONE", "value", "_value_", "letters"), [LETTERS])


def test_what_arguments_are_by_default_is_found_by_name():
    assert sets_of_defaults(of_defaults) == [("second", LETTERS), ("third", set("fg"))]
