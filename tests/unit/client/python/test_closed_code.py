"""Code whose reads are all in sight: which of them are of the object whose method it is,
and what it lets out."""

import dataclasses
import enum

import pytest

from stoker.captures.bytecode.closed import reads_of
from stoker.captures.bytecode.reads import gives_its_hash_alone


def of_itself(self, value):
    return self.first.second + value.third


def of_both(self, value):
    return self.first + value.first


def of_another_one(self, value):
    self = value
    return self.first


def of_a_result(self):
    return self.first().second


def in_a_comprehension(self, values):
    return [each.first for each in values], self.second


def in_a_function(self):
    return (lambda self: self.first), self.second


def by_text(self):
    return getattr(self, "first"), self.second


def of_nothing():
    return None


@pytest.mark.parametrize("function, own", [
    (of_itself, {"first", "second"}), (of_both, set()), (of_another_one, set()), (of_a_result, {"first"}), (in_a_comprehension, {"second"}),
    (in_a_function, {"second"}), (by_text, {"second"}), (of_nothing, set())])
def test_what_it_reads_of_its_first_argument_alone(function, own):
    assert reads_of(function.__code__).own == own


@dataclasses.dataclass(frozen=True)
class Named:
    name: str
    size: int


class Asks:
    def __hash__(self):
        return hash((self.name, self.size))


class Keeps:
    def __hash__(self):
        self.kept = hash(self.name)
        return self.kept


class Hands:
    def __hash__(self):
        return self.given(hash)


class Combines:
    def __hash__(self):
        return self | hash(self.name)


class Appends:
    def __hash__(self):
        found = hash(self.name)
        self.found.append(found)
        return found


@pytest.mark.parametrize(("cls", "is_usual"), [
    (Named, True), (Asks, True), (enum.Enum, True), (enum.Flag, True), (Keeps, False), (Hands, False), (Combines, False),
    (Appends, False)])
def test_a_usual_hash_goes_to_who_looks_something_up_alone(cls, is_usual):
    assert gives_its_hash_alone(cls.__hash__.__code__) is is_usual
