"""The one function that checks the guards of a capture in later calls: each kind notices its change."""

import types

import pytest
import torch

from stoker.captures.check.bound import compile_check
from stoker.captures.premises.checks import keys_of, tensor_words
from stoker.captures.words.identity import Describer
from stoker.captures.words.paths import ROOT, Paths, Scope, evaluate
from stoker.captures.words.values import encode


class Thing:
    def __init__(self):
        self.number = 3
        self.items = [1, 2]
        self.names = {"a": 1, "b": 2}
        self.pair = (1, 2.5)
        self.function = helper
        self.tensor = torch.nn.Parameter(torch.zeros(2, 3))
        self.other = self.tensor


class Other(Thing):
    pass


def helper(x):
    return x


def other_helper(x):
    return x + 1


def guards_of(thing):
    paths, describe = Paths(), Describer()
    root = paths.add(ROOT, "local", "thing")
    attr = {name: paths.add(root, "attr", name) for name in vars(thing)}
    item = paths.add(attr["names"], "item", "a")
    tensor = tensor_words(thing.tensor, [2, 3], [3, 1])
    guards = [
        [root, "type", list(describe.class_words(Thing)), ""],
        [root, "own attributes lack", "late", ""],
        [root, "has no attribute", "later", ""],
        [attr["number"], "equals", 3, ""],
        [attr["items"], "length", 2, ""],
        [attr["items"], "equals", encode([1, 2]), ""],
        [attr["names"], "keys", keys_of(thing.names), ""],
        [attr["names"], "contains", "a", ""],
        [attr["names"], "lacks", "z", ""],
        [item, "equals", 1, ""],
        [attr["pair"], "equals", encode((1, 2.5)), ""],
        [attr["function"], "is", describe(helper), ""],
        [attr["tensor"], "tensor", tensor, ""],
        [attr["other"], "same", attr["tensor"], ""],
    ]
    bound = evaluate(paths.nodes, Scope({"thing": thing}, {}))
    return compile_check(paths.nodes, guards, [attr["tensor"]], bound, {}, describe)


CHANGES = {
    "type": lambda thing: setattr(thing, "__class__", Other),
    "own attribute": lambda thing: setattr(thing, "late", 1),
    "attribute": lambda thing: setattr(thing, "later", 1),
    "number": lambda thing: setattr(thing, "number", 4),
    "number's type": lambda thing: setattr(thing, "number", 3.0),
    "list in place": lambda thing: thing.items.__setitem__(0, 7),
    "list's length": lambda thing: thing.items.append(3),
    "dictionary's value": lambda thing: thing.names.__setitem__("a", 5),
    "dictionary's keys": lambda thing: thing.names.__setitem__("z", 5),
    "dictionary's order": lambda thing: thing.names.__setitem__("a", thing.names.pop("a")),
    "tuple": lambda thing: setattr(thing, "pair", (1, 3.5)),
    "function": lambda thing: setattr(thing, "function", other_helper),
    "tensor's dtype": lambda thing: setattr(thing.tensor, "data", torch.zeros(2, 3).double()),
    "tensor's shape": lambda thing: setattr(thing.tensor, "data", torch.zeros(3, 2)),
    "tensor's strides": lambda thing: setattr(thing.tensor, "data", torch.zeros(3, 2).t()),
    "tensor's gradient": lambda thing: thing.tensor.requires_grad_(False),
    "another tensor": lambda thing: setattr(thing, "other", torch.nn.Parameter(torch.zeros(2, 3))),
    "no attribute": lambda thing: delattr(thing, "number"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(change):
    thing = Thing()
    check = guards_of(thing)
    assert check({"thing": thing})
    change(thing)
    assert not check({"thing": thing})


def test_an_equal_object_passes():
    check = guards_of(Thing())
    assert check({"thing": Thing()})
    assert not check({"thing": types.SimpleNamespace()})
    assert not check({})
