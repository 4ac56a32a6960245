"""Functions whose results count as constant: called again before a capture is installed."""

import functools
import sys

import pytest
import torch

from stoker.captures.check.program import GuardProgram
from stoker.captures.premises import constants
from stoker.captures.premises.constants import constants_of, first_difference
from stoker.captures.premises.settings import settings
from stoker.captures.words.values import NotPortable
from stoker.captures.words.paths import ROOT
from stoker.pytorch import state
from stoker.pytorch.frames import copied

STATE = {"scale": 3.0}


@functools.lru_cache
@torch.compiler.assume_constant_result
def scaled(by, plus=0.0):
    return [by * STATE["scale"] + plus, "text", None]


@torch.compiler.assume_constant_result
def fails():
    raise KeyError("gone")


def inner():
    return scaled.__wrapped__


@pytest.fixture(autouse=True)
def unchanged():
    scaled.cache_clear()
    yield
    STATE["scale"] = 3.0
    scaled.cache_clear()


def called(*arguments, **keywords):
    return inner(), arguments, keywords, scaled(*arguments, **keywords)


def test_what_a_call_gave_is_compared_by_value():
    words = constants_of([called(2.0), called(2.0), called(2.0, plus=1.0)])
    assert len(words) == 2 and first_difference(words) is None
    STATE["scale"] = 5.0
    scaled.cache_clear()
    what, expected, found = first_difference(words)
    assert what == f"{__name__}:scaled()" and (6.0).hex() in expected and (10.0).hex() in found


def test_a_function_that_is_gone_or_counts_no_more_is_a_difference(monkeypatch):
    words = constants_of([called(2.0)])
    monkeypatch.setattr(sys.modules[__name__], "scaled", lambda by: [6.0, "text", None])
    assert first_difference(words)[2] == "none"
    monkeypatch.delattr(sys.modules[__name__], "scaled")
    assert first_difference(words)[2] == "none"


def test_true_is_not_one():
    STATE["scale"] = 1
    words = constants_of([called(1, plus=0)])
    assert first_difference(words) is None
    words[0][3] = {"list": [True, *words[0][3]["list"][1:]]}
    assert "True" in first_difference(words)[1]


def test_an_argument_that_is_gone_is_a_difference():
    words = constants_of([called(2.0)])
    words[0][1]["list"] = [{"enum": [f"{__name__}:Gone", "A"]}]
    assert "Gone" in first_difference(words)[2]


def test_no_function_is_called_where_another_guard_fails(monkeypatch):
    monkeypatch.setattr(constants, "first_difference", None)
    program = GuardProgram({
        "nodes": [[ROOT, "local", "x"]], "guards": [[0, "equals", 1, ""]], "distinct": [], "shapes": [], "names": [],
        "enumerates": False, "orders": False, "lines": False, "objects": [], "tensors": [], "members": [], "identities": [],
        "compares_identity": False, "optimizers": None, "kinds": [], "apart": False,
        "facts": {"codes": [], "chains": [], "operators": [], "classes": [], "texts": [], "modules": []},
        "environment": {"variables": [], "packages": None, "modules": [], "places": False, "finders": None, "replaced": None, "hash": None, "rank": None, "settings": settings(), "codecs": []}, "trees": [], "untraced": None,
        "installed": [],
            "imported": [],
        "state": state.asked_for(state.current(), lambda name: False, False), "constants": [["never:called", [], [], 1]],
    }, globals())
    assert program.first_failure({"x": 2}).what == "x"


def test_a_call_that_raises_is_a_difference():
    assert "gone" in first_difference(constants_of([(fails, (), {}, 1.5)]))[2]


def test_what_a_function_changes_of_its_arguments_is_kept_as_it_was_given():
    given = ([1, {"inner": [2]}], {3}, "text")
    kept = copied(given)
    given[0][1]["inner"].clear()
    given[0].clear()
    given[1].add(4)
    assert kept == ([1, {"inner": [2]}], {3}, "text")


@pytest.mark.parametrize("call", [
    lambda: (inner(), (object(),), {}, 1.0),
    lambda: (inner(), (), {}, torch.ones(2)),
    lambda: (torch.compiler.assume_constant_result(lambda: 1.0), (), {}, 1.0)])
def test_what_has_no_words_or_no_name_stays_local(call):
    with pytest.raises(NotPortable):
        constants_of([call()])
