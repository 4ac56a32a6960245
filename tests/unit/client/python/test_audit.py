"""What an audit compares."""

import copy

import pytest

from stoker.captures.audit import audit
from stoker.captures.words.code import encode_code
from stoker.captures.words.paths import ROOT



def doubled(x):
    tmp_1 = __stoker_0123abcd_0(x)  # noqa: F821
    return tmp_1 + 2


def doubled_otherwise(x):
    tmp_7 = __stoker_ffff_0(x)  # noqa: F821
    return tmp_7 + 2


def tripled(x):
    tmp_1 = __stoker_0123abcd_0(x)  # noqa: F821
    return tmp_1 + 3


def code_of(function):
    return encode_code(function.__code__, {}, globals())


RECORD = {
    "nodes": [[ROOT, "local", "x"], [ROOT, "local", "self"], [1, "attr", "scale"]],
    "guards": [[0, "equals", 3, "a.py:1"], [2, "equals", {"float": "0x1p+0"}, ""], [0, "same", 2, ""]],
    "shapes": ["L['x'].size()[0] >= 2"],
    "optimizers": {
        "places": [1], "only_same": [], "others": [0], "marks": [[0, "guarded"]], "keeps_capturable": False,
        "words": {"leaves": [[0, 1, {"value": {"float": "0x1p+0"}}, {"value": None}]], "tensors": [[], []], "others": [1]}},
    "facts": {
        "codes": [["m:f", "0123"]], "chains": [["m", ["F", "gelu"], ["function", "m:gelu", "4567"]]]},
    "code": code_of(doubled),
    "globals": [["__stoker_0123abcd_0", "graph", 0]],
    "graphs": [{"eager": "{}", "runtime": {"outputs": []}, "program": {"keys": ["89ab"]}}],
}


def changed(change):
    record = copy.deepcopy(RECORD)
    change(record)
    return record


def in_another_order(record):
    """The same guards over the same paths, numbered otherwise."""
    record["nodes"] = [record["nodes"][1], record["nodes"][0], [0, "attr", "scale"]]
    record["guards"] = [[1, "same", 2, ""], [2, "equals", {"float": "0x1p+0"}, ""], [1, "equals", 3, "b.py:9"]]


    record["optimizers"].update(places=[0], others=[1])


def under_another_prefix(record):
    record["code"] = code_of(doubled_otherwise)
    record["globals"][0][0] = "__stoker_ffff_0"


def on_another_line(record):
    record["code"].update(co_firstlineno=4, co_varnames=["x", "tmp_7"])


@pytest.mark.parametrize("change", [
    lambda record: None, in_another_order, under_another_prefix, on_another_line,
    lambda record: record["facts"]["chains"].clear(),
    lambda record: record["graphs"][0].update(program={"keys": ["of another target"]})])
def test_what_is_the_same_does_not_differ(change):
    assert audit.first_difference(RECORD, changed(change)) is None


@pytest.mark.parametrize("change", [
    lambda record: record["optimizers"]["words"].update(leaves=[[0, 0, {"value": {"float": "0x1p+0"}}, {"value": None}]]),
    lambda record: record["optimizers"].update(only_same=[1]), lambda record: record.update(optimizers=None),
    lambda record: record["graphs"][0].update(held=[0])])
def test_optimizers_count(change):
    assert audit.first_difference(RECORD, changed(change)) is not None


def of_any_rate(record):
    """Of learning: once it has varied."""
    record["optimizers"]["words"]["leaves"][0][2] = {"number": "float"}


def of_any_number(record):
    """As Dynamo traces once a number has varied."""
    record["guards"][0][1:3] = "type", ["builtins:int", "0123"]


@pytest.mark.parametrize("change", [
    of_any_number, of_any_rate, lambda record: record["shapes"].append("L['x'].size()[0] == L['x'].size()[1]"),
    lambda record: [of_any_number(record), record["shapes"].append("L['x'] == 3")]])
def test_records_of_other_sizes_or_numbers_are_not_compared(change):
    assert audit.first_difference(RECORD, changed(change)) is not None
    assert not audit._are_as_general(RECORD, changed(change)) and not audit._are_as_general(changed(change), RECORD)


@pytest.mark.parametrize("change", [
    lambda record: record["guards"].pop(0), lambda record: record["guards"][0].__setitem__(2, 4),
    lambda record: record["guards"][1].__setitem__(2, {"float": "0x1p+1"})])
def test_a_number_without_a_guard_or_with_another_is_a_difference(change):
    assert audit._are_as_general(RECORD, changed(change)) and audit.first_difference(RECORD, changed(change)) is not None


@pytest.mark.parametrize("what, change", [
    ("a guard", lambda record: record["guards"].pop()),
    ("a guard", lambda record: record["guards"][0].__setitem__(2, 4)),
    ("a guard on sizes", lambda record: record["shapes"].append("True")),
    ("code", lambda record: record["facts"]["codes"][0].__setitem__(1, "other")),
    ("the bytecode", lambda record: record.update(code=code_of(tripled))),
    ("the bytecode", lambda record: record["code"]["co_names"].__setitem__(0, "other")),
    ("the bytecode", lambda record: record["globals"].append(["f", "function", code_of(tripled)])),
    ("a graph", lambda record: record["graphs"][0].update(eager="{...}")),
    ("what happens around a graph", lambda record: record["graphs"][0]["runtime"]["outputs"].append(1)),
])
def test_what_differs_is_named(what, change):
    found, expected, other = audit.first_difference(RECORD, changed(change))
    assert found == what and expected != other
