"""Guards over symbolic sizes and numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from stoker.captures.premises.shapes import check_expression, compile_expressions, signs_of_zeros, with_modules
from stoker.captures.words.paths import Scope
from stoker.captures.words.values import NotPortable


@pytest.mark.parametrize("traced, other", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize("expression", ["L['n'] == 0.0", "0.0 == L['n']", "L['k'] > 2 and L['n'] == 0.0", "L['n'] == -0.0"])
def test_a_number_that_is_to_be_zero_has_the_sign_that_it_had(expression, traced, other):
    scope = Scope({"n": traced, "k": 3}, {})
    first_failure = compile_expressions([expression, *signs_of_zeros(expression, scope)], {})
    assert first_failure({"n": traced, "k": 3}) is None
    assert first_failure({"n": other, "k": 3}) is not None
    assert first_failure({"n": 1.0, "k": 3}) == expression


@pytest.mark.parametrize("expression", ["L['n'] == 0", "L['x'].size()[0] == 2", "L['n'] != 0.0", "L['n'] == 1.5"])
def test_other_guards_ask_for_no_sign(expression):
    assert signs_of_zeros(expression, Scope({"n": 0}, {})) == []


def test_numbers_of_numpys_may_lie_in_globals():
    first_failure = compile_expressions(["not math.isnan(___from_numpy(G['n']).item())"], global_values := {"n": np.float64(2)})
    assert first_failure({}) is None
    global_values["n"] = np.float64("nan")
    assert first_failure({}) is not None
    global_values["n"] = 2.0  # No number of NumPy's.
    assert first_failure({}) is not None


def test_numbers_may_lie_in_what_globals_hold():
    holder = SimpleNamespace(scale=2.0)
    first_failure = compile_expressions(["not math.isnan(G['c'].scale)", "G['c'].scale != L['n']"], {"c": holder})
    assert first_failure({"n": 3}) is None
    holder.scale = math.nan
    assert first_failure({"n": 3}) == "not math.isnan(G['c'].scale)"
    holder.scale = 3.0
    assert first_failure({"n": 3}) == "G['c'].scale != L['n']"


class Held:
    scale = 2.0


class Heir(Held):
    pass


def with_defaults(x, factor=0.5, *, shift=0.25):
    return x * factor + shift


@pytest.mark.parametrize("expression", [
    "dict(type(L['c']).__mro__[1].__dict__)['scale'] == 2.0", "L['f'].__defaults__[0] == 0.5",
    "L['f'].__kwdefaults__['shift'] == 0.25"])
def test_numbers_may_lie_in_classes_and_defaults(expression):
    assert compile_expressions([expression], {})({"c": Heir(), "f": with_defaults}) is None
    assert compile_expressions([expression], {})({"c": Held(), "f": len}) == expression


@pytest.mark.parametrize("expression", [
    "type('a', (), {})", "dict(a=1)", "L['c'].__class__", "L['f'].__globals__['x'] == 1", "L['f'].__code__", "print(1)",
    "type(L['c']).mro()", "[each for each in L['c']]"])
def test_what_guards_do_not_do_is_refused(expression):
    with pytest.raises(NotPortable):
        check_expression(expression)


def test_modules_under_names_of_dynamo_are_read_by_their_own():
    known = {"__import_math": "math", "other": None}.__getitem__
    text = with_modules("G['__import_math'].pi < L['x'].size()[0] and not math.isnan(G['other'])", known)
    assert text == "M['math'].pi < L['x'].size()[0] and (not math.isnan(G['other']))"
    check = compile_expressions([text], {"other": 1.0})
    assert check({"x": torch.empty(4)}) is None and check({"x": torch.empty(3)}) == text
    gone = with_modules("G['__import_math'].pi > 0", lambda name: "no_such_module")
    assert compile_expressions([gone], {})({}) == gone
