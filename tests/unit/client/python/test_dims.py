import random

import pytest

from stoker.graph.assumptions import Assumptions, Settled, condition_of
from stoker.graph.dims import at, floordiv, from_words, largest, of_tree, same, smallest, symbol, to_words, varies
from stoker.graph.text import MAX_VARYING_TERMS, GraphText

OPERATIONS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "max": max, "min": min}
SYMBOLIC = {**OPERATIONS, "max": largest, "min": smallest, "//": floordiv}


def drawn(rng, depth):
    """(a Dim or int over s0 and s1, a function of their values that gives what it is)."""
    if depth == 0:
        number = rng.randrange(3)
        if number == 2:
            constant = rng.randint(-3, 9)
            return constant, lambda values: constant
        return symbol(number), lambda values: values[number]
    name = rng.choice(list(OPERATIONS))
    (a, a_at), (b, b_at) = drawn(rng, depth - 1), drawn(rng, depth - 1)
    if name in ("//", "%"):
        b, b_at = (symbol(0), lambda values: values[0]) if rng.random() < 0.3 else (4, lambda values: 4)
    return SYMBOLIC[name](a, b), lambda values: OPERATIONS[name](a_at(values), b_at(values))


@pytest.mark.parametrize("seed", range(200))
def test_a_dim_is_what_its_arithmetic_says(seed):
    rng = random.Random(seed)
    dim, expected = drawn(rng, 3)
    names = {"floordiv": lambda a, b: a // b, "max": max, "min": min}
    for values in ((2, 3), (5, 2), (7, 7), (64, 1)):
        assert at(dim, values) == expected(values), dim
        assert at(from_words(to_words(dim)), values) == expected(values)
        assert eval(str(dim), {**names, "s0": values[0], "s1": values[1]}) == expected(values)


@pytest.mark.parametrize("dim, text", [
    (symbol(0) * 768 + 1, "768*s0+1"), (symbol(1) - symbol(0), "-s0+s1"), ((symbol(0) * 6 + 3) // 4, "floordiv(s0+1,2)+s0"),
    (12 * symbol(0) * 64 // symbol(0), "768"), (7 // symbol(0), "floordiv(7,s0)"), (symbol(0) * 0, "0"),
    (((symbol(0) + 1) // 2 + 1) // 2, "floordiv(s0+3,4)"), ((symbol(0) * 6 + 3) // 9, "floordiv(2*s0+1,3)"),
    ((symbol(0) * 4 + 3) // 2, "2*s0+1"), ((symbol(0) // 2 * 3 + symbol(1) * 3 + 6) // (symbol(0) // 2 + symbol(1) + 2), "3"), (symbol(0) * symbol(1) * 2 // 2, "s0*s1"), (of_tree(("+", "a", ("**", "a", 2), -1), {"a": symbol(3)}), "s3*s3+s3-1")])
def test_text(dim, text):
    assert str(dim) == text


def test_what_is_no_polynomial_is_refused():
    with pytest.raises(ValueError):
        of_tree(("**", "a", -1), {"a": symbol(0)})
    with pytest.raises(KeyError):
        of_tree("b", {"a": symbol(0)})
    with pytest.raises(ValueError):
        condition_of(["<", 3])


def test_shapes_are_the_same_only_if_they_always_are():
    assumptions = Assumptions([5, 5])
    s0, s1 = map(assumptions.symbol, (0, 1))
    assert same((1, s0), [1, s0]) and not same((s0,), (s1,)) and not same((s0,), (5,)) and not same((2,), (2, s0))
    assert varies((1, [s0])) and not varies((1, [2]))
    assert len(assumptions.conditions()) == 2  # The symbols' ranges.


def test_what_follows_is_not_assumed():
    assumptions = Assumptions([37, 5])
    s0, s1 = map(assumptions.symbol, (0, 1))
    before = assumptions.conditions()
    assert s0 != 1 and s0 != 0 and 0 not in (1, s0) and s0 > 1 and max(0, s0) is s0
    assert s0 * s1 - s0 > 0 and 12 * s0 != 64 and s0 * 64 != 64 and s0 + s1 - s1 == s0 and s0 // 2 >= 1
    assert min(s0, 2**63 - 1) is s0
    assert assumptions.conditions() == before


def test_what_does_not_follow_holds_for_calls_that_are_alike():
    assumptions = Assumptions([37, 5])
    s0, s1 = map(assumptions.symbol, (0, 1))
    assert s0 <= 512 and s0 != 64 and s1 < s0 and (s0 - 30) * s1 > 3
    conditions = assumptions.conditions()

    def fits(*values):
        return all(condition.holds(values) for condition in conditions)

    assert fits(37, 5) and fits(511, 2)
    assert not fits(513, 5) and not fits(64, 5) and not fits(40, 40) and not fits(1, 5) and not fits(31, 2)
    again = [condition_of(condition.words()) for condition in conditions]
    for values in ((37, 5), (513, 5), (64, 5), (40, 40), (31, 2)):
        assert all(condition.holds(values) for condition in again) == fits(*values)
    assert s0 <= 512 and s0 != 64 and s1 < s0  # Once it is assumed, it follows.
    assert assumptions.conditions() == conditions


@pytest.mark.parametrize("ask, number, meaning", [
    (lambda s0, s1: int(s0), 0, 37), (lambda s0, s1: s0 == 37, 0, 37), (lambda s0, s1: range(s1 * 2), 1, 5),
    (lambda s0, s1: float(s0 * s1), 0, 37), (lambda s0, s1: s0 == s1 * 7 + 2 and s0 == 32 + s1, 0, 37)])
def test_a_size_that_has_to_be_a_number_is_settled(ask, number, meaning):
    assumptions = Assumptions([37, 5])
    symbols = list(map(assumptions.symbol, (0, 1)))
    with pytest.raises(Settled) as settled:
        ask(*symbols)
        int(symbols[0])
    assert (settled.value.number, settled.value.meaning) == (number, meaning)
    again = Assumptions([37, 5], {number: meaning})
    assert again.symbol(number) == meaning
    other = [37, 5]
    other[number] += 1
    assert not all(condition.holds(other) for condition in again.conditions())


def test_two_sizes_that_have_to_be_one_are_settled():
    assumptions = Assumptions([5, 5, 1])
    with pytest.raises(Settled) as settled:
        bool(assumptions.symbol(0) == assumptions.symbol(1))
    assert (settled.value.number, settled.value.meaning) == (1, (0,))
    again = Assumptions([5, 5, 1], {1: (0,)})
    assert again.symbol(1) == again.symbol(0) and again.symbol(2) == 1
    fits = [all(c.holds(values) for c in again.conditions()) for values in ((6, 6, 1), (6, 5, 1), (6, 6, 2))]
    assert fits == [True, False, False]


def test_two_products_that_have_to_be_one_are_settled():
    assumptions = Assumptions([4, 6, 3, 8])
    symbols = [assumptions.symbol(number) for number in range(4)]
    with pytest.raises(Settled) as settled:
        bool(symbols[0] * symbols[1] == symbols[2] * symbols[3])
    again = Assumptions([4, 6, 3, 8], {settled.value.number: settled.value.meaning})
    first, second, third, fourth = (again.symbol(number) for number in range(4))
    assert str((third * fourth * 2 * first + third).settled()) == "2*s0*s0*s1+s2"
    assert (third * fourth).settled() == first * second
    assert third * fourth == first * second  # What a rule multiplies is as it was.
    fits = [all(c.holds(values) for c in again.conditions()) for values in ((4, 6, 3, 8), (4, 6, 2, 12), (4, 6, 4, 5))]
    assert fits == [True, True, False]


@pytest.mark.parametrize("rows, varies_on", [(MAX_VARYING_TERMS // 4, True), (MAX_VARYING_TERMS // 4 + 1, False)])
def test_a_long_reduction_is_for_its_sizes_alone(rows, varies_on):
    """One loop would add all of it up; cut into parts, where their number is known, it is more accurate."""
    assumptions = Assumptions([rows])
    g = GraphText()
    x = g.input("f32", (assumptions.symbol(0), 4))
    g.reduce("add", x, [1])
    if varies_on:
        g.reduce("add", x, [0, 1])
        assert not all(condition.holds([rows + 1]) for condition in assumptions.conditions())
    else:
        with pytest.raises(Settled):
            g.reduce("add", x, [0, 1])
