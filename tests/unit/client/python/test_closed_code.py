"""Code whose reads are all in sight: which of them are of the object whose method it is."""

import pytest

from stoker.captures.bytecode.closed import reads_of


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
