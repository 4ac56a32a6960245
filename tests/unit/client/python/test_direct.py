"""stoker.compile: which arguments a call binds."""

import functools
import sys

import pytest

from stoker.captures import direct
from stoker.captures.install import frames


@pytest.fixture
def seen(monkeypatch):
    """Local values of each frame that is looked for; none is found."""
    calls = []

    def find(code, module, local_values, *rest):
        calls.append(local_values)
        return None, None

    monkeypatch.setattr(frames, "find", find)
    return calls


def bind(function, *arguments, **keywords):
    call = direct._Call(function, {"mode": None, "options": None, "dynamic": None})
    call._find(function, (), arguments, keywords)


def test_arguments_are_bound_as_a_call_binds_them(seen):
    outer = 5

    def function(a, b=2, *c, d, e=6, **f):
        return outer

    bind(function, 1, d=4, g=7)
    bind(function, 1, 3, 8, d=4)
    assert seen == [
        {"a": 1, "b": 2, "c": (), "d": 4, "e": 6, "f": {"g": 7}, "outer": 5},
        {"a": 1, "b": 3, "c": (8,), "d": 4, "e": 6, "f": {}, "outer": 5}]


def test_a_call_that_does_not_fit_is_left_to_python(seen):
    bind(lambda a: a)
    assert seen == []


def test_annotations_are_not_evaluated(seen):
    # Before CPython 3.14 they are when the function is made, unless the module asks for texts.
    future = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
    scope = {}
    exec(f"{future}def function(a: missing.Name, b: also[missing]): pass", scope)
    bind(scope["function"], 1, 2)
    assert seen == [{"a": 1, "b": 2}]


def test_a_wrapper_is_bound_by_its_own_arguments(seen):
    @functools.wraps(bind)
    def function(*arguments):
        pass

    bind(function, 1, 2)
    assert seen == [{"arguments": (1, 2)}]


@pytest.mark.parametrize("options", [["verify"], "verify", {"verify": False}, {}, None])
def test_options_without_verify_may_start_warm_whatever_they_are(options, monkeypatch):
    """The backend names those that are no dictionary."""
    monkeypatch.setattr(direct.features, "are_on", lambda feature: True)
    assert direct._Call(len, {"mode": None, "options": options, "dynamic": None})._may_start()
    assert not direct._Call(len, {"mode": None, "options": {"verify": True}, "dynamic": None})._may_start()
