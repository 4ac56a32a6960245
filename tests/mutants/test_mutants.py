"""A short search: it finds no hole, all that were found before, and one that is planted."""

import io

import pytest
from mutants import found, mutant, programs, search

CORPUS = ("class_attributes", "enums", "helpers", "names_by_text", "registries")
SEED = 1
COUNT = 30
CALLS = 20
pytestmark = pytest.mark.together
INDIFFERENT_AMONG = 100
DIGESTED = ("documentation", "definition in class")  # With the code of a function, with a class.


def of_corpus(*names):
    return [each for each in programs.small() if each.name in names]


@pytest.fixture(scope="module")
def searched():
    corpus, known = of_corpus(*CORPUS), found.programs()
    chosen = filter(None, (mutant.choose(corpus, SEED, number) for number in range(INDIFFERENT_AMONG)))
    with search.Search([*corpus, *known], SEED, jobs=1) as searched:
        searched.start(found.mutants(known))
        searched.start(each for each in chosen if each.kind.startswith(mutant.INDIFFERENT))
        searched.run(range(COUNT))
        searched.run_calls(range(CALLS))
        yield searched


def report(searched):
    out = io.StringIO()
    return searched.report(out), out.getvalue()


def test_a_search_finds_no_hole(searched):
    status, text = report(searched)
    assert searched.wrong() == [], text
    assert status == 0, text


def test_a_search_starts_warm_where_nothing_is_touched(searched):
    assert {str(program) for program in searched.never_warm if not program.title} == set()
    cold = [
        (str(each.program), each.kind, detail) for each, outcome, detail in searched.outcomes
        if each.kind.startswith(mutant.INDIFFERENT) and not each.program.title and outcome != "warm"
        and not each.kind.endswith(DIGESTED)]
    assert cold == [] and searched.warm_share() is not None
    outcomes = {outcome for _, outcome, _ in searched.outcomes}
    assert {"warm", "retraced", "seen", "unseen, right"} <= outcomes


def test_a_search_finds_a_planted_hole(searched):
    blind = searched.blinded()
    blind.start(each for each, _, _ in searched.outcomes if each.kind == "found before")
    status, text = report(blind)
    names = {str(each.program) for each, _, _ in blind.wrong()}
    assert status == 1 and {"abc_tuple, found before", "abc_sub, found before"} <= names, text
    assert "WRONG: abc_tuple" in text and "+Shape.register(Thing)" in text, text
