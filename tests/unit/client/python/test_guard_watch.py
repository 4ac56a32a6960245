"""What later checks of the guard program look at in place of the program's objects: PyTorch's state, functions and
cells, attributes that Python code computes, hooks."""

import sys
import threading

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from stoker.captures.check import native
from stoker.captures.check.program import GuardProgram
from stoker.captures.words.identity import Describer
from stoker.captures.words.paths import ROOT, Paths
from stoker.captures.words.values import NotPortable
from stoker.pytorch import modules, state
from stoker.pytorch.native.tensor_layout import learn_tensors

pytestmark = pytest.mark.skipif(native.extension() is None, reason="stoker_guards is not built")

# Does CPython tell of every change of a dictionary? (cpython#125608)
TELLS = sys.version_info[:3] != (3, 13, 0)


class Guarded:
    """Guards over local variables, and their program, bound to PyTorch's state as it is."""

    def __init__(self, /, **local_values):
        self.paths, self.guards, self.local_values = Paths(), [], local_values
        self.roots = {name: self.paths.add(ROOT, "local", name) for name in local_values}

    def add(self, place, kind, expected):
        self.guards.append([place, kind, expected, ""])

    def warm(self):
        record = {
            "nodes": self.paths.nodes, "guards": self.guards, "distinct": [], "shapes": [],
            "compares_identity": False, "optimizers": None, "apart": False, "state": {}}
        reference = GuardProgram(record, {})
        reference._describe = Describer()
        self.program = native.program(record, {}, reference._ask)
        assert self.program.first_failure(self.local_values) == -1
        assert self.program.bind_state(*state.parts())
        for _ in range(3):
            assert self.holds()
        assert self.program.is_watching == TELLS
        return self

    def holds(self):
        return self.program.holds(self.local_values)

    def is_quick(self):
        """Does a later check ask nothing but what the watch sees?"""
        return not self.program.is_watching or not self.program.live


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)


def model_guarded():
    guarded = Guarded(self=Model())
    inner = guarded.paths.add(guarded.paths.add(guarded.roots["self"], "attr", "_modules"), "item", "inner")
    guarded.add(guarded.paths.add(inner, "attr", "in_features"), "equals", 2)
    for name in modules.HOOKS:
        guarded.add(guarded.paths.add(inner, "attr", name), "length", 0)
    return guarded.warm()


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def inside(context):
    def call(check):
        with context():
            check()
    return call


def while_set(get, change, value):
    def call(check):
        before = get()
        change(value)
        try:
            check()
        finally:
            change(before)
    return call


def attribute(owner, name, value):
    return while_set(lambda: getattr(owner, name), lambda new: setattr(owner, name, new), value)


def under_vmap(check):
    def function(x):
        check()
        return x
    torch.vmap(function)(torch.zeros(2))


def with_global_hook(check):
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        check()
    finally:
        handle.remove()


_CUDA = torch.backends.cuda
_STATES = {
    "no grad": inside(torch.no_grad),
    "inference": inside(torch.inference_mode),
    "autocast": inside(lambda: torch.autocast("cpu")),
    "autocast's dtype": while_set(
        lambda: torch.get_autocast_dtype("cpu"), lambda value: torch.set_autocast_dtype("cpu", value),
        torch.float16),
    "autocast's dtype of another device": while_set(
        lambda: torch.get_autocast_dtype("cuda"), lambda value: torch.set_autocast_dtype("cuda", value),
        torch.bfloat16),
    "autocast's cache": while_set(
        torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, False),
    "default dtype": while_set(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "deterministic": while_set(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True),
    "deterministic, warning": lambda check: while_set(
        lambda: False, lambda on: torch.use_deterministic_algorithms(on, warn_only=on), True)(check),
    "threads": while_set(torch.get_num_threads, torch.set_num_threads, 7),
    "TF32": attribute(_CUDA.matmul, "fp32_precision", "tf32"),
    "oneDNN's precision": attribute(torch.backends.mkldnn.matmul, "fp32_precision", "bf16"),
    "reduction in float16": attribute(
        _CUDA.matmul, "allow_fp16_reduced_precision_reduction", False),
    "reduction in bfloat16": attribute(
        _CUDA.matmul, "allow_bf16_reduced_precision_reduction", False),
    "flash attention": while_set(_CUDA.flash_sdp_enabled, _CUDA.enable_flash_sdp, False),
    "efficient attention": while_set(
        _CUDA.mem_efficient_sdp_enabled, _CUDA.enable_mem_efficient_sdp, False),
    "plain attention": while_set(_CUDA.math_sdp_enabled, _CUDA.enable_math_sdp, False),
    "function mode": inside(FunctionMode),
    "dispatch mode": inside(DispatchMode),
    "functions of subclasses off": inside(torch._C.DisableTorchFunctionSubclass),
    "functions off": inside(torch._C.DisableTorchFunction),
    "functorch": under_vmap,
    "saved tensors' hooks": inside(
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)),
    "default device": inside(lambda: torch.device("meta")),
    "dual level": inside(torch.autograd.forward_ad.dual_level),
    "global hook": with_global_hook,
}


@pytest.mark.parametrize("change", _STATES.values(), ids=_STATES)
def test_a_change_of_state_is_noticed(change):
    guarded, seen = model_guarded(), []
    change(lambda: seen.extend((guarded.holds(), guarded.holds())))
    assert seen == [False, False]
    assert guarded.holds() and guarded.holds()


def test_state_that_nothing_reads_is_no_part_of_a_capture():
    now = state.current()
    left_out = {
        "num_threads", "allow_tf32", "cuda_matmul_precision", "allow_fp16_reduce", "allow_bf16_reduce", "numerics",
        "gpu_numerics", "precisions"}
    kept = state.asked_for(now, lambda name: False, reads_numerics=False)
    assert now.keys() - kept.keys() == left_out & now.keys()
    assert state.difference(kept) is None
    asked = state.asked_for(now, lambda name: name == "get_float32_matmul_precision", reads_numerics=False)
    assert "allow_tf32" in asked and "num_threads" not in asked
    seen = []
    _STATES["TF32"](lambda: seen.extend((state.difference(kept), state.difference(asked))))
    assert seen[0] is None and seen[1] is not None
    read, seen = state.asked_for(now, lambda name: False, reads_numerics=True), []
    _STATES["oneDNN's precision"](lambda: seen.extend((state.difference(kept), state.difference(read))))
    assert seen == [None, ("numerics", "highest", "medium")]


def test_every_part_of_the_state_is_changed_above():
    before, changed = state.current(), set()

    def note():
        try:
            now = state.current()
        except NotPortable:
            return
        changed.update(name for name in before if before[name] != now[name])

    for change in _STATES.values():
        change(note)
    # Setting a device is a mode of functions too; what is set of AOTAutograd is asked at a start, as Dynamo asks at a trace.
    assert changed == set(before) - {"default_device", "autograd"}


def test_another_thread_has_a_state_of_its_own():
    guarded, seen = model_guarded(), []

    def run():
        seen.append(guarded.holds())
        with torch.no_grad():
            seen.append(guarded.holds())

    with torch.no_grad():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert not guarded.holds()
    assert seen == [True, False]


def test_tensors_lie_where_they_are_looked_for():
    assert learn_tensors()


HOOKS = {
    "forward": lambda module: module.register_forward_hook(lambda *_: None),
    "forward with keywords": lambda module: module.register_forward_hook(
        lambda *_: None, with_kwargs=True),
    "before forward": lambda module: module.register_forward_pre_hook(lambda *_: None),
    "before forward with keywords": lambda module: module.register_forward_pre_hook(
        lambda *_: None, with_kwargs=True),
    "backward": lambda module: module.register_full_backward_hook(lambda *_: None),
    "before backward": lambda module: module.register_full_backward_pre_hook(lambda *_: None)}


@pytest.mark.parametrize("register", HOOKS.values(), ids=HOOKS)
def test_a_hook_is_noticed(register):
    guarded = model_guarded()
    assert guarded.is_quick()
    handle = register(guarded.local_values["self"].inner)
    assert not guarded.holds()
    handle.remove()
    assert guarded.holds() and guarded.holds()
    again = register(guarded.local_values["self"].inner)
    assert not guarded.holds()
    again.remove()


def make_function(captured):
    def function(x, scale=2):
        return captured(x) * scale
    return function


def make_other_function(captured):
    def function(x, scale=2):
        return captured(x) - scale
    return function


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.function = make_function(double)


def _set_cell(function):
    function.__closure__[0].cell_contents = triple


FUNCTION_CHANGES = {
    "cell": _set_cell,
    "code": lambda function: setattr(function, "__code__", make_other_function(triple).__code__),
    "code in a cell": lambda function: setattr(
        function.__closure__[0].cell_contents, "__code__", triple.__code__),
    "default": lambda function: setattr(function, "__defaults__", (3,))}


@pytest.mark.parametrize("change", FUNCTION_CHANGES.values(), ids=FUNCTION_CHANGES)
def test_a_change_of_a_function_is_noticed(change):
    guarded, describe, code = Guarded(self=Holder()), Describer(), double.__code__
    paths, function = guarded.paths, guarded.local_values["self"].function
    place = paths.add(guarded.roots["self"], "attr", "function")
    cell = paths.add(paths.add(paths.add(place, "attr", "__closure__"), "item", 0), "attr", "cell_contents")
    guarded.add(cell, "is", describe(double))
    guarded.add(paths.add(cell, "attr", "__code__"), "is", describe(double.__code__))
    guarded.add(paths.add(place, "attr", "__code__"), "is", describe(function.__code__))
    guarded.add(paths.add(place, "default", 0), "equals", 2)
    guarded.warm()
    assert guarded.is_quick()
    try:
        change(function)
        assert not guarded.holds()
    finally:
        double.__code__ = code


class Settings:
    """As configurations of transformers: names stand for other names, and a property for an attribute."""

    renamed = {"width": "columns"}
    rows = 3

    def __init__(self):
        self.columns = 4
        self._kind = "a"

    def __getattribute__(self, name):
        if name != "renamed" and name in super().__getattribute__("renamed"):
            name = super().__getattribute__("renamed")[name]
        return super().__getattribute__(name)

    @property
    def kind(self):
        return self._kind


class Configured(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings()


SETTING_CHANGES = {
    "attribute": lambda settings: setattr(settings, "columns", 5),
    "what a property gives": lambda settings: setattr(settings, "_kind", "b"),
    "attribute that was missing": lambda settings: setattr(settings, "missing", 1),
    "name": lambda settings: Settings.renamed.__setitem__("rows", "columns"),
    "name that was missing": lambda settings: Settings.renamed.__setitem__("missing", "rows"),
    "own names": lambda settings: setattr(settings, "renamed", {"width": "rows"}),
    "over the class's": lambda settings: setattr(settings, "rows", 5),
    "class's": lambda settings: setattr(Settings, "rows", 5)}


@pytest.mark.parametrize("change", SETTING_CHANGES.values(), ids=SETTING_CHANGES)
def test_a_change_of_what_is_computed_is_noticed(change):
    guarded = Guarded(self=Configured())
    settings = guarded.paths.add(guarded.roots["self"], "attr", "settings")
    for step in ("attr", "generic"):
        for name, value in (("rows", 3), ("columns", 4), ("kind", "a")):
            guarded.add(guarded.paths.add(settings, step, name), "equals", value)
    guarded.add(guarded.paths.add(settings, "attr", "width"), "equals", 4)
    guarded.add(settings, "has attribute", "width")
    guarded.add(settings, "has no attribute", "missing")
    guarded.warm()
    assert guarded.is_quick()
    names = dict(Settings.renamed)
    try:
        change(guarded.local_values["self"].settings)
        assert not guarded.holds()
    finally:
        Settings.renamed.clear()
        Settings.renamed.update(names)
        Settings.rows = 3


# ---- whoever writes, and however often it did --------------------------------------------------------


class Plan:
    def __init__(self, extra=0):
        self.size = 2
        self.table = {"size": 2}
        for number in range(extra):
            setattr(self, f"extra{number}", number)


def plan_guarded(model):
    guarded = Guarded(self=model)
    plan = guarded.paths.add(guarded.roots["self"], "attr", "plan")
    guarded.add(guarded.paths.add(plan, "attr", "size"), "equals", 2)
    table = guarded.paths.add(plan, "attr", "table")
    guarded.add(guarded.paths.add(table, "item", "size"), "equals", 2)
    return guarded.warm()


def planned(plan):
    model = Model()
    model.plan = plan
    return model


def set_attribute(plan):
    plan.size = 3


def set_computed_attribute(plan):
    setattr(plan, "size", 3)


def delete_attribute(plan):
    del plan.size


def set_item(plan):
    plan.table["size"] = 3


def set_own_item(plan):
    plan.__dict__["size"] = 3


def add_attributes(plan):
    for number in range(40):  # More than lie in an object.
        setattr(plan, f"more{number}", number)
    plan.size = 3


@pytest.mark.parametrize("extra", [0, 40])
@pytest.mark.parametrize("change", [
    set_attribute, set_computed_attribute, delete_attribute, set_item, set_own_item, add_attributes])
def test_a_change_by_code_that_ran_often_is_noticed(change, extra):
    for _ in range(100):  # CPython has rewritten its bytecode by then.
        change(Plan(extra))
    guarded = plan_guarded(planned(Plan(extra)))
    change(guarded.local_values["self"].plan)
    assert not guarded.holds()


def test_programs_that_watch_the_same_objects_do_not_depend_on_each_other():
    model = planned(Plan())
    first, second, third = (plan_guarded(model) for _ in range(3))
    del second
    model.plan.unguarded = 1
    assert first.holds() and third.holds()
    del first
    model.plan.size = 3
    assert not third.holds()
    del third
    model.plan.size = 2
    again = plan_guarded(model)
    model.plan.table["size"] = 3
    assert not again.holds()


def test_objects_that_end_leave_their_places_to_others():
    for _ in range(50):
        guarded = plan_guarded(planned(Plan()))
        guarded.local_values["self"].plan = Plan()
        assert guarded.holds()
        guarded.local_values["self"].plan.table["size"] = 3
        assert not guarded.holds()
