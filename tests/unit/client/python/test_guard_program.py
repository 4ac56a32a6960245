"""The guard program in C++ beside its reference in Python: the same answer for every kind of guard, before and
after every kind of change, also right after a check that passed."""

import collections
import copy
import gc
import importlib.machinery
import random
import sys
import threading
import types
import weakref

import pytest
import torch

from stoker.captures.check import native
from stoker.captures.check.program import ALL_HOLD, GuardProgram
from stoker.captures.premises.checks import keys_of, tensor_words
from stoker.captures.words.identity import Describer
from stoker.captures.words.paths import ROOT, STEPS, Paths, Scope, evaluate, text
from stoker.captures.words.values import encode

pytestmark = pytest.mark.skipif(native.extension() is None, reason="stoker_guards is not built")

# Does CPython tell of every change of a dictionary? (cpython#125608)
TELLS = sys.version_info[:3] != (3, 13, 0)


def helper(x):
    return x


def other_helper(x):
    return x + 1


class Base(torch.nn.Module):
    pass


class OtherBase(torch.nn.Module):
    late_in_base = 1


class Layer(Base):
    scale = 2

    def step(self):
        return 1

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2, 3))
        self.register_buffer("steps", torch.zeros(4))
        self.number = 3
        self.ratio = 0.5
        self.pair = (1, 2.5, ("a", None))
        self.items = [1, 2]
        self.names = {"a": 1, "b": 2}
        self.ordered = collections.OrderedDict(a=1)
        self.function = helper
        self.kind = torch.float32
        self.options = Options()


class Other(Layer):
    pass


class Options:
    """Attributes that a class computes."""

    def __init__(self):
        self.depth = 4

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

    @property
    def width(self):
        if self.depth < 0:
            raise RuntimeError("no width")
        return 8


class Marked(torch.nn.Parameter):
    pass


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Layer()
        self.second = Layer()
        self.tied = self.first


GLOBALS = {"limit": 7, "helper": helper, "table": {"k": 1}, "math": __import__("math")}


def record_of(model, x, global_values):
    """A record with a guard of every kind, on every kind of path."""
    paths, describe, guards = Paths(), Describer(), []

    def add(place, kind, expected):
        guards.append([place, kind, expected, ""])

    def is_constant(place, value):
        add(place, "equals", encode(value))

    def of_type(place, value):
        add(place, "type", list(describe.class_words(type(value))))

    def of_tensor(place, tensor):
        of_type(place, tensor)
        add(place, "tensor", tensor_words(tensor, list(tensor.shape), list(tensor.stride())))
        add(place, "dynamic", sorted(getattr(tensor, "_dynamo_dynamic_indices", ())))

    root = paths.add(ROOT, "local", "self")
    of_type(root, model)
    modules = paths.add(root, "attr", "_modules")
    add(modules, "keys", keys_of(model._modules))
    distinct = []
    for name in ("first", "second"):
        layer, place = getattr(model, name), paths.add(modules, "item", name)
        of_type(place, layer)
        add(place, "own attributes lack", "forward")
        add(place, "has no attribute", "late")
        add(place, "has attribute", "weight")
        add(place, "has attribute", "extra_repr")
        attr = {each: paths.add(place, "attr", each) for each in (
            "training", "number", "ratio", "pair", "items", "names", "ordered", "function", "kind",
            "options", "scale", "_forward_hooks", "_parameters", "_buffers", "weight")}
        for each in ("training", "number", "ratio", "pair", "items", "kind", "scale"):
            is_constant(attr[each], getattr(layer, each))
        add(attr["function"], "is", describe(layer.function))
        add(attr["_forward_hooks"], "length", 0)
        add(attr["pair"], "length", 3)
        add(attr["items"], "length", 2)
        add(attr["ordered"], "length", 1)
        add(attr["names"], "keys", keys_of(layer.names))
        add(attr["names"], "contains", "a")
        add(attr["names"], "lacks", "z")
        is_constant(paths.add(attr["names"], "item", "a"), 1)
        is_constant(paths.add(attr["names"], "dict", "b"), 2)
        is_constant(paths.add(attr["items"], "list", 0), 1)
        add(paths.add(attr["names"], "key", 0), "equals", "a")
        is_constant(paths.add(paths.add(attr["pair"], "item", 2), "item", 0), "a")
        is_constant(paths.add(attr["options"], "attr", "depth"), 4)
        is_constant(paths.add(attr["options"], "attr", "width"), 8)
        is_constant(paths.add(attr["options"], "generic", "depth"), 4)
        weight = paths.add(attr["_parameters"], "item", "weight")
        of_tensor(weight, layer.weight)
        add(attr["weight"], "same", weight)
        steps = paths.add(attr["_buffers"], "item", "steps")
        of_tensor(steps, layer.steps)
        distinct += [weight, steps]
        kind = paths.add(place, "type")
        add(kind, "is", describe(type(layer)))
        add(paths.add(paths.add(kind, "typedict"), "item", "scale"), "equals", 2)
        add(paths.add(kind, "attr", "step"), "is", describe(type(layer).step))
        add(paths.add(kind, "typedict"), "lacks", "late_in_base")
        base = paths.add(paths.add(kind, "attr", "__mro__"), "item", 1)
        add(paths.add(base, "typedict"), "lacks", "late_in_base")
        code = paths.add(attr["function"], "attr", "__code__")
        add(code, "is", describe(helper.__code__))
    add(paths.add(modules, "item", "tied"), "same", paths.add(modules, "item", "first"))
    place = paths.add(ROOT, "local", "x")
    of_tensor(place, x)
    distinct.append(place)
    is_constant(paths.add(ROOT, "local", "flag"), None)
    is_constant(paths.add(ROOT, "global", "limit"), 7)
    add(paths.add(ROOT, "global", "helper"), "is", describe(helper))
    is_constant(paths.add(paths.add(ROOT, "global", "table"), "item", "k"), 1)
    math = paths.add(ROOT, "global", "math")
    add(math, "is", describe(global_values["math"]))
    add(paths.add(math, "attr", "sqrt"), "is", describe(global_values["math"].sqrt))
    add(paths.add(paths.add(ROOT, "builtins"), "item", "len"), "is", describe(len))
    probe = paths.add(ROOT, "module", PROBE)
    add(probe, "is", ["module", PROBE])
    is_constant(paths.add(probe, "attr", "level"), 5)
    return {
        "nodes": paths.nodes, "guards": guards, "distinct": sorted(distinct), "shapes": [],
        "compares_identity": False, "optimizers": None, "apart": False, "state": {}}


PROBE = "stoker_guard_probe"


class Case:
    """A model, what it is called with, and both programs over it."""

    def __init__(self, watch=True):
        sys.modules[PROBE] = types.ModuleType(PROBE)
        sys.modules[PROBE].level = 5
        self.model, self.x = Model(), torch.zeros(2, 3)
        self.global_values = dict(GLOBALS, table={"k": 1}, math=types.ModuleType("stoker_tests_own"))
        self.global_values["math"].sqrt = GLOBALS["math"].sqrt
        self.flag = None
        self.record = record_of(self.model, self.x, self.global_values)
        self.reference = GuardProgram(self.record, self.global_values)
        self.reference._describe = Describer()
        self.program = native.program(
            self.record, self.global_values, self.reference._ask, watch)

    def local_values(self):
        return {"self": self.model, "x": self.x, "flag": self.flag}

    def expected(self):
        """What the reference finds: None, or the number of the guard."""
        self.reference._describe = Describer()
        self.reference._values = evaluate(
            self.record["nodes"], Scope(self.local_values(), self.global_values))
        for number, guard in enumerate(self.record["guards"]):
            if not self.reference._holds(guard, self.reference._describe):
                return number
        return len(self.record["guards"]) if self.reference._relation_failure() else -1

    def check_all(self):
        assert self.expected() == -1, self.describe(self.expected())
        assert self.program.first_failure(self.local_values()) == -1

    def warm(self):
        """As in a process whose calls went well."""
        self.check_all()
        for _ in range(3):
            assert self.program.holds(self.local_values())

    def describe(self, number):
        place, *words = self.record["guards"][number]
        return text(self.record["nodes"], place), words


def _rebuild(layer):
    layer.__dict__ = dict(layer.__dict__)
    layer.number = 4


def _set_base(case):
    case.model.first.__class__ = Other


CHANGES = {
    "class": _set_base,
    "submodule swapped": lambda case: setattr(case.model, "second", torch.nn.Linear(2, 2)),
    "submodule added": lambda case: setattr(case.model, "third", torch.nn.Linear(2, 2)),
    "submodule removed": lambda case: delattr(case.model, "second"),
    "submodules' order": lambda case: case.model._modules.move_to_end("first")
    if hasattr(case.model._modules, "move_to_end")
    else case.model._modules.__setitem__("first", case.model._modules.pop("first")),
    "tie broken": lambda case: setattr(case.model, "tied", copy.deepcopy(case.model.tied)),
    "train or eval": lambda case: case.model.eval(),
    "one submodule's mode": lambda case: case.model.second.eval(),
    "hook": lambda case: case.model.second.register_forward_hook(lambda *_: None),
    "own forward": lambda case: setattr(case.model.first, "forward", helper),
    "attribute added": lambda case: setattr(case.model.first, "late", 1),
    "class attribute added": lambda case: setattr(Layer, "late", 1),
    "property over an attribute": lambda case: setattr(
        Layer, "number", property(lambda self: 9, lambda self, value: None)),
    "class attribute": lambda case: setattr(Layer, "scale", 3),
    "method": lambda case: setattr(Layer, "step", other_helper),
    "base's attribute": lambda case: setattr(Base, "late_in_base", 1),
    "bases": lambda case: setattr(Layer, "__bases__", (OtherBase,)),
    "attribute": lambda case: setattr(case.model.second, "number", 4),
    "attribute's type": lambda case: setattr(case.model.second, "number", 3.0),
    "attribute gone": lambda case: delattr(case.model.second, "number"),
    "dictionary replaced": lambda case: _rebuild(case.model.second),
    "float's sign": lambda case: setattr(case.model.second, "ratio", -0.5),
    "tuple": lambda case: setattr(case.model.second, "pair", (1, 2.5, ("b", None))),
    "list in place": lambda case: case.model.second.items.__setitem__(0, 7),
    "list's length": lambda case: case.model.second.items.append(3),
    "dictionary's value": lambda case: case.model.second.names.__setitem__("a", 5),
    "dictionary's other value": lambda case: case.model.second.names.__setitem__("b", 5),
    "dictionary's keys": lambda case: case.model.second.names.__setitem__("z", 5),
    "dictionary's order": lambda case: case.model.second.names.__setitem__(
        "a", case.model.second.names.pop("a")),
    "ordered dictionary": lambda case: case.model.second.ordered.clear(),
    "function": lambda case: setattr(case.model.second, "function", other_helper),
    "dtype attribute": lambda case: setattr(case.model.second, "kind", torch.float64),
    "another object's attribute": lambda case: setattr(case.model.second.options, "depth", 5),
    "property raises": lambda case: setattr(case.model.second.options, "depth", -1),
    "another object": lambda case: setattr(case.model.second, "options", types.SimpleNamespace()),
    "parameter's dtype": lambda case: case.model.double(),
    "parameter's shape": lambda case: setattr(case.model.second.weight, "data", torch.zeros(3, 2)),
    "parameter's strides": lambda case: setattr(
        case.model.second.weight, "data", torch.zeros(3, 2).t()),
    "parameter's gradient": lambda case: case.model.second.weight.requires_grad_(False),
    "parameter swapped": lambda case: torch.utils.swap_tensors(
        case.model.second.weight, torch.nn.Parameter(torch.zeros(3, 2))),
    "parameter's class": lambda case: setattr(case.model.second.weight, "__class__", Marked),
    "parameter shared": lambda case: setattr(
        case.model.second, "weight", case.model.first.weight),
    "parameter gone": lambda case: delattr(case.model.second, "weight"),
    "buffer resized": lambda case: case.model.second.steps.resize_(5),
    "buffer's dims": lambda case: case.model.second.steps.unsqueeze_(0),
    "buffer gets a gradient": lambda case: case.model.second.steps.requires_grad_(),
    "buffer replaced": lambda case: setattr(case.model.second, "steps", torch.zeros(5)),
    "buffer marked": lambda case: torch._dynamo.mark_dynamic(case.model.second.steps, 0),
    "argument's shape": lambda case: setattr(case, "x", torch.zeros(4, 3)),
    "argument's dtype": lambda case: setattr(case, "x", torch.zeros(2, 3).double()),
    "argument's strides": lambda case: setattr(case, "x", torch.zeros(3, 2).t()),
    "argument gets a gradient": lambda case: case.x.requires_grad_(),
    "argument's gradient function": lambda case: setattr(
        case, "x", torch.zeros(2, 3, requires_grad=True) * 2),
    "argument marked": lambda case: torch._dynamo.mark_dynamic(case.x, 0),
    "argument's conjugation": lambda case: setattr(
        case, "x", torch.zeros(2, 3, dtype=torch.complex64).conj().imag),
    "argument's type": lambda case: setattr(case, "x", [1]),
    "argument is a parameter": lambda case: setattr(case, "x", case.model.first.weight),
    "constant argument": lambda case: setattr(case, "flag", True),
    "another model": lambda case: setattr(case, "model", torch.nn.Linear(2, 2)),
    "another model that differs": lambda case: _other_model(case),
    "global": lambda case: case.global_values.__setitem__("limit", 8),
    "global gone": lambda case: case.global_values.pop("limit"),
    "global function": lambda case: case.global_values.__setitem__("helper", other_helper),
    "global dictionary": lambda case: case.global_values["table"].__setitem__("k", 2),
    "module's function": lambda case: setattr(
        case.global_values["math"], "sqrt", GLOBALS["math"].cos),
    "module's constant": lambda case: setattr(sys.modules[PROBE], "level", 6),
    "module's class": lambda case: setattr(
        sys.modules[PROBE], "__class__", type("Lazy", (types.ModuleType,), {
            "level": property(lambda self: 6)})),
    "module replaced": lambda case: sys.modules.__setitem__(PROBE, types.ModuleType(PROBE)),
    "module gone": lambda case: sys.modules.pop(PROBE),
}


def _other_model(case):
    case.model = Model()
    case.model.second.number = 4


_STEP = Layer.step


def restore_classes():
    Layer.__bases__, Layer.scale, Layer.step = (Base,), 2, _STEP
    for cls in (Layer, Base):
        for name in ("late", "number", "late_in_base"):
            if name in vars(cls):
                delattr(cls, name)


@pytest.fixture(autouse=True)
def restore():
    yield
    restore_classes()
    sys.modules.pop(PROBE, None)


@pytest.mark.parametrize("watch", [True, False], ids=["watching", "not watching"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_after_a_check_is_noticed(change, watch):
    case = Case(watch)
    case.warm()
    assert case.program.is_watching == (watch and TELLS)
    change(case)
    assert not case.program.holds(case.local_values())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_first_check_agrees_with_the_reference(change):
    case = Case()
    change(case)
    assert case.expected() != -1
    assert case.program.first_failure(case.local_values()) == case.expected()


def test_an_interpreter_without_the_stable_abi_gets_no_program(monkeypatch):
    monkeypatch.setattr(importlib.machinery, "EXTENSION_SUFFIXES", [".so"])  # As free-threaded builds have it.
    assert native.extension.__wrapped__() is None


HARMLESS = {
    "weights": lambda case: case.model.first.weight.data.fill_(1),
    "an unguarded attribute": lambda case: setattr(case.model.first, "unguarded", 1),
    "an equal number": lambda case: setattr(case.model.first, "number", int("3")),
    "an equal tuple": lambda case: setattr(case.model.first, "pair", (1, float("2.5"), ("a", None))),
    "an equal list": lambda case: setattr(case.model.first, "items", [1, 2]),
    "an equal dictionary": lambda case: setattr(case.model.first, "names", {"a": 1, "b": 2}),
    "a copy of the model": lambda case: setattr(case, "model", copy.deepcopy(case.model)),
    "a gradient": lambda case: setattr(
        case.model.first.weight, "grad", torch.ones_like(case.model.first.weight)),
    "weights elsewhere": lambda case: setattr(case.model.first.weight, "data", torch.ones(2, 3)),
    "a tensor's hook": lambda case: case.model.first.weight.register_hook(lambda gradient: None),
    "a hook there and back": lambda case: case.model.first.register_forward_hook(
        lambda *_: None).remove(),
    "an argument's attribute": lambda case: setattr(case.x, "unguarded", 1),
    "an argument's storage": lambda case: setattr(case, "x", torch.ones(4, 3)[2:]),
    "a new argument": lambda case: setattr(case, "x", torch.ones(2, 3)),
    "an unrelated global": lambda case: case.global_values.__setitem__("unrelated", 1),
    "a mode there and back": lambda case: (case.model.eval(), case.model.train()),
}


@pytest.mark.parametrize("watch", [True, False], ids=["watching", "not watching"])
@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_a_harmless_change_passes(change, watch):
    case = Case(watch)
    case.warm()
    change(case)
    assert case.expected() == -1
    for _ in range(3):
        assert case.program.holds(case.local_values())


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_agree_with_the_reference(seed):
    generator = random.Random(seed)
    changes = [*CHANGES.items(), *HARMLESS.items()] + list(HARMLESS.items()) * 6
    for _ in range(12):
        case = Case()
        case.warm()
        for _ in range(12):
            name, change = generator.choice(changes)
            try:
                change(case)
            except Exception:  # An earlier change took away what this one changes.
                break
            expected = case.expected() == -1
            assert case.program.holds(case.local_values()) == expected, name
            assert (case.program.first_failure(case.local_values()) == -1) == expected, name
            if not expected:
                break
        restore_classes()


def test_most_guards_need_no_second_look():
    case = Case()
    case.warm()
    if case.program.is_watching:
        assert len(case.program.live) < len(case.record["guards"]) * 0.6
    asked = case.program.asked
    assert case.program.holds(case.local_values())
    assert case.program.asked - asked <= 2  # The lists and the enumerated keys.


def test_nothing_keeps_a_model_alive():
    case = Case()
    case.warm()
    dead = weakref.ref(case.model), weakref.ref(case.model.second.weight)
    case.model = case.reference._values = None
    gc.collect()
    assert dead[0]() is None and dead[1]() is None
    assert not case.program.holds(case.local_values())
    case.model = Model()
    for _ in range(3):
        assert case.program.holds(case.local_values())


def test_no_reference_leaks():
    case = Case()
    case.warm()
    watched = (case.model, case.model.second, case.model.second.weight, case.model.second.names,
               case.model.second.__dict__, case.x, Layer, helper, None)
    local_values = case.local_values()
    before = [sys.getrefcount(value) for value in watched]
    for _ in range(100):
        assert case.program.holds(local_values)
        assert case.program.first_failure(local_values) == -1
        case.model.unguarded = None  # Not watched any more, and then again.
        assert case.program.holds(local_values)
    del case.model.unguarded
    after = [sys.getrefcount(value) for value in watched]
    assert all(later - earlier < 10 for earlier, later in zip(before, after))


def test_a_program_is_collected():
    case = Case()
    case.warm()
    dead = weakref.ref(case.reference)
    del case
    gc.collect()
    assert dead() is None


class Interrupting:
    raises = None

    @property
    def value(self):
        if self.raises is not None:
            raise self.raises
        return 1


def test_what_is_no_exception_passes_through():
    paths, thing = Paths(), Interrupting()
    value = paths.add(paths.add(ROOT, "local", "thing"), "attr", "value")
    record = {"nodes": paths.nodes, "guards": [[value, "equals", 1, ""]], "distinct": []}
    program = native.program(record, {}, lambda number, value: False)
    assert program.first_failure({"thing": thing}) == -1 and program.holds({"thing": thing})
    thing.raises = ValueError("no value")
    assert program.first_failure({"thing": thing}) == 0 and not program.holds({"thing": thing})
    thing.raises = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        program.first_failure({"thing": thing})
    with pytest.raises(KeyboardInterrupt):
        program.holds({"thing": thing})


def test_an_object_that_a_property_destroys_is_not_read():
    class Layers(torch.nn.Module):
        @property
        def trap(self):
            self.inner.number = self.inner.number  # A change while guards are being checked.
            if armed:
                del self.inner
            return 1

    armed = []
    model, paths = Layers(), Paths()
    model.inner = Layer()
    root = paths.add(ROOT, "local", "self")
    trap = paths.add(root, "attr", "trap")
    items = paths.add(paths.add(paths.add(root, "attr", "_modules"), "item", "inner"), "attr", "items")
    record = {
        "nodes": paths.nodes, "distinct": [],
        "guards": [[trap, "equals", 1, ""], [items, "length", 2, ""]]}
    program = native.program(record, {}, lambda number, value: False)
    for _ in range(3):
        assert program.holds({"self": model})
    armed.append(True)
    program.holds({"self": model})
    assert not program.holds({"self": model})


def test_threads():
    case = Case()
    case.warm()
    wrong, stop = [], threading.Event()

    def check():
        while not stop.is_set():
            if not case.program.holds(case.local_values()):
                wrong.append("a guard failed")

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for count in range(300):
        case.model.second.unguarded = count
        case.model.first.names = {"a": 1, "b": 2}
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("nodes, guards, distinct", [
    ([[-1, "local"]], [], []),
    ([[-1, "elsewhere", "x"]], [], []),
    ([[0, "attr", "x"]], [], []),
    ([[-1, "local", "x"], [0, "no step", "y"]], [], []),
    ([[-1, "local", "x"]], [[1, "equals", 1, ""]], []),
    ([[-1, "local", "x"]], [[-1, "equals", 1, ""]], []),
    ([[-1, "local", "x"]], [[0, "tensor", {}, ""]], []),
    ([[-1, "local", "x"]], [[0, "same", 7, ""]], []),
    ([[-1, "local", "x"]], [[0, "has attribute", 7, ""]], []),
    ([[-1, "local", "x"]], [], [3]),
    ([[-1, "local", "x"], *([place, "attr", "y"] for place in range(1000))], [], []),
])
def test_a_malformed_record_is_refused(nodes, guards, distinct):
    record = {"nodes": nodes, "guards": guards, "distinct": distinct}
    with pytest.raises((ValueError, TypeError)):
        native.program(record, {}, None)


def _asked_twice(first, second):
    """A program of two guards with the same words, which accepts whatever it is asked of while `asks` says so."""
    paths, asks = Paths(), [True]
    record = {
        "nodes": paths.nodes, "distinct": [],
        "guards": [[paths.add(ROOT, "local", name), "is", ["function", "of the same words"], ""] for name in "ab"]}
    program = native.program(record, {}, lambda number, value: asks[0])
    assert program.first_failure({"a": first, "b": second}) == ALL_HOLD
    asks[0] = False
    return program


def test_an_object_of_the_same_words_is_another_in_later_calls():
    first, second = (lambda: 2), (lambda: 2)
    program = _asked_twice(first, second)
    assert program.holds({"a": first, "b": second})
    assert not program.holds({"a": second, "b": second}) and not program.holds({"a": first, "b": first})


def test_functions_that_were_accepted_are_not_kept_alive():
    def function():
        pass

    program = _asked_twice(function, function)
    died = weakref.ref(function)
    del function
    assert died() is None and not program.holds({"a": len, "b": len})
    assert not program.holds({"a": None, "b": None})


def test_an_item_that_is_not_there_is_not_made():
    table, paths = collections.defaultdict(int, a=1), Paths()
    node = paths.add(paths.add(ROOT, "local", "t"), "item", "a")
    program = native.program(
        {"nodes": paths.nodes, "guards": [[node, "equals", 1, ""]], "distinct": []}, {}, lambda number, value: False)
    assert program.first_failure({"t": table}) == ALL_HOLD
    del table["a"]
    assert program.first_failure({"t": table}) == 0 and not table
    with pytest.raises(KeyError):
        STEPS["item"](table, "a")
    assert not table
