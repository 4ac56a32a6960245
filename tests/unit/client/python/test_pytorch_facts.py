"""What a PyTorch must have, and what becomes of what it has otherwise."""

import dataclasses
import functools
import os

import pytest
import torch

from stoker.base.not_portable import NotPortable
from stoker.captures.trial import __main__ as trial
from stoker.captures.trust import features, verdicts
from stoker.captures.trust.verdicts import MARK
from stoker.libstoker.library import StokerError
from stoker.pytorch import facts, guards, installation, names, versions
from stoker.pytorch.names import NAMES, Name
from stoker.pytorch.unknown import require_defaults
from stoker.pytorch.versions import v2_11, v2_12

FEATURES = sorted({feature for name in NAMES for feature in name.features})


@pytest.mark.parametrize("feature", FEATURES)
def test_this_pytorch_has_every_name(feature):
    assert facts.first_difference(feature) is None


def two(first, second):
    pass


def three(first, second, third):
    pass


def three_with_default(first, second, third=None, *others):
    pass


def passed_on(*arguments, **keywords):
    pass


@dataclasses.dataclass
class Fields:
    first: int = 0
    second: object = None
    third: list = dataclasses.field(default_factory=list)


class Holds:
    first: int


@pytest.mark.parametrize("path, parameters, fields, expected", [
    ("two", ("first", "second"), None, None),
    ("two", ("first",), None, "does not take"),
    ("two", ("second", "first"), None, "does not take"),
    ("three", ("first", "second"), None, "does not take (first, second)"),
    ("three_with_default", ("first", "second"), None, None),
    ("passed_on", ("first", "second"), None, None),
    ("none", None, None, "is not there"),
    ("two.attribute", None, None, "is not there"),
    ("Fields", None, ("first", "third"), None),
    ("Fields", None, ("fourth",), "has no fourth"),
    ("Holds", None, ("first",), None),
    ("Holds", None, ("second",), "has no second"),
])
def test_a_name_is_as_it_must_be_or_said_to_differ(path, parameters, fields, expected):
    found = facts.difference_of(Name(f"{__name__}:{path}", (), "", parameters, fields))
    assert found is None if expected is None else expected in found


def test_a_module_that_is_not_there_is_a_difference():
    assert "is not there" in facts.difference_of(Name("torch._nothing:f", (), ""))


@pytest.mark.parametrize("value, is_known", [
    (Fields(), True), (Fields(first=7), True), (Fields(second=False), True),
    (Fields(third=[None, None]), True), (Fields(second=1), False), (Fields(third=[0]), False)])
def test_a_field_that_is_not_known_must_hold_its_default(value, is_known):
    if is_known:
        require_defaults(value, {"first"}, "a thing")
    else:
        with pytest.raises(NotPortable, match="a thing with (second|third)"):
            require_defaults(value, {"first"}, "a thing")


@pytest.mark.parametrize("version, expected", [
    ("2.11.0+cu130", (2, 11)), ("2.15.0", (2, 15)), ("3.0.1a0", (3, 0))])
def test_a_version_is_read_from_its_text(version, expected):
    assert versions.number_of(version) == expected


class Source:
    def __init__(self, **fields):
        vars(self).update(fields)


def test_guards_of_2_11_get_the_words_of_today():
    base = Source()
    assert v2_11.guard_words("HASATTR", Source(base=base, member="scale"), {}) == (
        "HASATTR", base, {"attr": "scale"})
    assert v2_11.guard_words("DICT_CONTAINS", base, {"key": 1, "invert": True}) == (
        "DICT_NOT_CONTAINS", base, {"key": 1})
    assert v2_11.guard_words("DICT_CONTAINS", base, {"key": 1, "invert": False}) == (
        "DICT_CONTAINS", base, {"key": 1})
    assert v2_12.guard_words("HASATTR", base, {"attr": "scale"}) == ("HASATTR", base, {"attr": "scale"})


def guard_of(kind, **arguments):
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.source import AttrSource, LocalSource
    from torch._guards import Guard

    method = getattr(GuardBuilder, kind)
    return Guard(
        AttrSource(LocalSource("x"), "scale"), functools.partial(method, **arguments) if arguments else method)


def test_a_guard_made_with_something_new_has_no_portable_form():
    assert guards.words_of(guard_of("EQUALS_MATCH")).reason == ""
    assert guards.words_of(guard_of("DUPLICATE_INPUT", source_b=1)).reason == ""
    assert "with tolerance" in guards.words_of(guard_of("DUPLICATE_INPUT", source_b=1, tolerance=2)).reason


def test_the_installation_has_one_digest(monkeypatch, tmp_path):
    found = []
    for cache in (tmp_path / "one", tmp_path / "one", tmp_path / "two"):
        monkeypatch.setenv("STOKER_CACHE_DIR", str(cache))
        installation.digest.cache_clear()
        found.append(installation.digest())
    assert len(found[0]) == 64 and len(set(found)) == 1
    assert len(list((tmp_path / "one" / "sources").iterdir())) == 1
    assert installation.version() == torch.__version__


def test_a_cache_that_cannot_be_written_changes_no_digest(monkeypatch):
    expected = installation.digest()
    monkeypatch.setenv("STOKER_CACHE_DIR", "/dev/null/nowhere")
    installation.digest.cache_clear()
    assert installation.digest() == expected


@pytest.mark.parametrize("text, expected", [
    (f"noise\n{MARK}{{}}\n0.5\n", {}), (f'{MARK}{{"captures": "why"}}\n', {"captures": "why"}),
    ("{}", None), ("", None), (f"{MARK}0.5", None), (f"{MARK}[1]", None), (f"{MARK}{{", None)])
def test_a_verdict_is_what_a_trial_said_and_nothing_else(text, expected):
    assert verdicts.verdict_in(text) == expected


@pytest.mark.skipif("STOKER_TEST_CAPTURES" in os.environ, reason="it is being found out")
def test_this_installation_is_one_that_was_tested():
    """After a change of names.py, ./dev matrix has to run again."""
    assert installation.digest() in features.tested()


def test_every_feature_has_a_name_and_every_name_a_purpose():
    assert {
        names.GRAPHS, names.WEIGHTS, names.SIZES, names.CAPTURES, names.TRAINING, names.DIRECT, names.EXPORTED,
        names.GPUS, names.OPTIMIZERS} == set(FEATURES)
    assert all(name.purpose for name in NAMES)


class _Copy:
    """A folder in the place of PyTorch's, whose digest is asked in this process."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        monkeypatch.setattr(installation, "ROOT", f"{folder}/")
        monkeypatch.setenv("STOKER_CACHE_DIR", str(folder.parent / "cache"))
        for name in ("_dynamo/a.py", "_decomp/b.py", "c.py", "testing/d.py", "lib/e.py", "lib/libtorch_cpu.so"):
            self.write(name, "x = 1\n")

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def digest(self):
        installation.digest.cache_clear()
        return installation.digest()


@pytest.fixture
def copy(tmp_path, monkeypatch):
    yield _Copy(tmp_path / "torch", monkeypatch)
    monkeypatch.undo()
    installation.digest.cache_clear()


@pytest.mark.parametrize("name", ["_dynamo/a.py", "_decomp/b.py", "c.py", "new/f.py", "lib/libtorch_cpu.so"])
def test_whatever_traces_is_in_the_digest(copy, name):
    before = copy.digest()
    copy.write(name, "x = 22\n")
    assert copy.digest() != before


@pytest.mark.parametrize("name", ["testing/d.py", "lib/e.py", "c.txt"])
def test_what_has_no_part_in_a_trace_is_not(copy, name):
    before = copy.digest()
    copy.write(name, "x = 22\n")
    assert copy.digest() == before


def test_a_change_of_equal_size_whose_time_is_set_back_is_seen(copy):
    before, path = copy.digest(), copy.folder / "c.py"
    status = path.stat()
    path.write_text("x = 2\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert copy.digest() != before


def test_what_leads_nowhere_is_no_part_of_pytorch(copy, monkeypatch):
    before = copy.digest()
    (copy.folder / "_dynamo" / ".#a.py").symlink_to("nobody@nowhere")
    assert copy.digest() == before
    for name in ("STOKER_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # Nobody's home is known.
    assert copy.digest() == before


def test_code_of_pytorch_is_where_it_stands():
    code = torch.nn.Module.add_module.__code__
    place = installation.place_of(code)
    assert place.startswith(f"nn/modules/module.py:{code.co_firstlineno}:Module.add_module:")
    assert place == installation.place_of(code.replace(co_flags=code.co_flags))
    for made in (
            code.replace(co_consts=(*code.co_consts, 5)), code.replace(co_names=(*code.co_names, "more")),
            code.replace(co_code=code.co_code + code.co_code[-2:])):
        assert installation.place_of(made) != place
    assert installation.place_of(test_code_of_pytorch_is_where_it_stands.__code__) is None
    assert installation.place_of(torch.testing.assert_close.__code__) is None


@pytest.mark.parametrize("key", [
    "", "CPU", "CUDA", "ADInplaceOrView", "BackendSelect", "Conjugate", "Negative", "ZeroTensor", "Functionalize", "FuncTorchBatched",
    "FuncTorchGradWrapper", "Autograd", "AutogradCPU", "AutocastCPU", "AutocastCUDA", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "Python", "PythonTLSSnapshot"])
def test_kernels_of_the_programs_own_keep_captures_here(key):
    from stoker.pytorch import state

    assert state.current()
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("linear", lambda x, weight, bias=None: x, key)
        with pytest.raises(NotPortable, match=f"aten/linear/{key}"):
            state.current()
    finally:
        library._destroy()
    assert state.current()


def test_kernels_in_pytorchs_own_registry_count_as_whose_they_are():
    from stoker.pytorch import operators

    registry = pytest.importorskip("torch._native.registry")
    key = ("aten", "sin", "CPU")
    try:
        registry.register_op_override("theirs", *key, cond=lambda x: True, impl=lambda keys, x: x)
        registry._register_overrides_from_graph(*key, registry._graphs[key])
        assert operators.kernel_of_the_program() == "aten/sin/CPU"
        for override in registry._graphs[key]:
            override.cond_fn, override.impl_fn = torch.nn.functional.relu, functools.partial(torch.nn.functional.silu)
        assert operators.kernel_of_the_program() is None
    finally:
        registry._destroy_override(*key)
        registry._graphs.pop(key, None)
    assert operators.kernel_of_the_program() is None


@pytest.mark.parametrize("key", ["XPU", "AutogradXPU", "PrivateUse1", "SparseMPS", "NestedTensorMeta"])
def test_kernels_for_other_devices_are_none_of_ours(key):
    from stoker.pytorch import state

    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("sin", lambda x: x, key)
        assert state.current()
    finally:
        library._destroy()


def test_without_a_daemon_there_is_no_verdict(monkeypatch, capsys):
    def nobody(digest):
        raise StokerError(5, "no daemon")

    monkeypatch.setattr(verdicts, "remembered", nobody)
    trial.main(installation.digest())
    assert capsys.readouterr().out == ""
