"""`stoker warm model.pt2`: jobs that run the programs of an archive of torch.export compile nothing afterwards."""

import json
import os
import pathlib
import pickle
import re
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile

import pytest
import torch
from e2e import forked
from e2e import export_models
from e2e.conftest import BUILD, ROOT
from stoker.export_archive import __main__ as reader, calls, checked, stand_ins
from stoker.export_archive.archive import Archive
from stoker.export_archive.errors import ArchiveError
from stoker.pytorch import exported, facts
from torch.export.pt2_archive._package import package_pt2

pytestmark = pytest.mark.together
JOB = ROOT / "tests" / "e2e" / "export_job.py"
MODES = ("no_grad", "inference_mode", "grad")
SIZES = (4, 12, 9)


def stoker(site, *arguments, **env):
    return subprocess.run(
        [str(BUILD / "bin" / "stoker"), *map(str, arguments)],
        env={**site.env, "STOKER_PYTHON": forked.python(), **env}, capture_output=True, text=True, timeout=900)


def warm(site, *arguments, status=0, **env):
    """The summary of `stoker warm --json`, and the lines that came with it."""
    done = stoker(site, "warm", *arguments, "--json", **env)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def job(site, archive, *calls):
    """{call: what came of it}; nothing traces less than it would for the first time."""
    done = subprocess.run(
        [forked.python(), str(JOB), str(archive), *calls], env={**site.env, "STOKER_CAPTURES": "off"},
        capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def compiles(site):
    return site.stats()["compiles"]


def save(path, *names):
    """An archive with programs, each under its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of weights that are slices.
        package_pt2(str(path), exported_programs={name: export_models.exported(name)[0] for name in names})
    return path


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """With all programs."""
    return save(tmp_path_factory.mktemp("archive") / "models.pt2", *export_models.PROGRAMS)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """With one, as torch.export.save writes it."""
    path = tmp_path_factory.mktemp("archive") / "small.pt2"
    torch.export.save(export_models.exported("mlp")[0], str(path))
    return path


@pytest.fixture(scope="module")
def warmed(make_site, archive):
    site = make_site()
    site.warmed, site.said = warm(site, archive, "--size", f"mlp:x.0={','.join(map(str, SIZES))}")
    return site


# ---- Jobs --------------------------------------------------------------------------------------------


def test_an_archive_is_compiled_without_being_run(warmed, archive):
    summary = warmed.warmed
    assert summary["failed"] == 0 and summary["compiled"] == summary["total"] == compiles(warmed) > 0
    assert summary["stored"] == 0
    for name in export_models.PROGRAMS:
        assert f"model '{name}'" in warmed.said
    again, _ = warm(warmed, archive, "--check", "--size", f"mlp:x.0={','.join(map(str, SIZES))}")
    assert (again["hits"], again["missing"]) == (summary["total"], 0)


@pytest.mark.parametrize("mode", MODES)
def test_jobs_compile_nothing(warmed, archive, mode):
    before = compiles(warmed)
    done = job(warmed, archive, *(f"{name}:{mode}" for name in export_models.PROGRAMS if name != "mlp"))
    for call, made in done.items():
        assert made["graphs"] > 0 and made["error"] < 1, (call, made)
        assert "compiled" not in made["sources"] and "joined" not in made["sources"], (call, made)
    assert compiles(warmed) == before


def test_jobs_of_the_sizes_asked_for_compile_nothing_in_any_order(warmed, archive):
    before = compiles(warmed)
    orders = ("4,12,9", "9,4,12", "12")
    calls = [f"mlp:{mode}:module:{sizes}" for mode in ("no_grad", "grad") for sizes in orders]
    for call, made in job(warmed, archive, *calls).items():
        assert made["error"] < 1 and made["graphs"] >= min(2, call.count(",") + 1), (call, made)
    assert compiles(warmed) == before
    job(warmed, archive, "mlp:no_grad:module:5")
    assert compiles(warmed) == before + 1  # So it was the archive that made the others hits.


def test_jobs_that_compile_otherwise_compile_nothing(warmed, archive):
    before = compiles(warmed)
    done = job(warmed, archive, "gpt2:no_grad:direct", "resnet:inference_mode:direct", "gpt2:no_grad:original",
               "resnet:no_grad:original", "mlp_bf16:no_grad:original", "resnet:grad:original")
    for call, made in done.items():
        assert made["graphs"] > 0 and made["error"] < 1 and "compiled" not in made["sources"], (call, made)
    assert compiles(warmed) == before


def test_under_no_grad_fewer_are_compiled(site, small):
    everything, said = warm(site, small, "--check", status=1)
    assert "with gradients" in said and "(x.0=8)" in said
    without, said = warm(site, small, "--check", "--no-grad-only", status=1)
    assert "with gradients" not in said
    assert 0 < without["total"] < everything["total"]
    assert warm(site, small, "--no-grad-only")[0]["compiled"] == without["total"]
    assert warm(site, small, "--no-grad-only", "--check")[0]["hits"] == without["total"]


def test_all_options_of_a_manifest_count(site, small):
    targets = ("--target", "cpu/x86-64-v3", "--target", "cpu/x86-64-v4")
    summary, _ = warm(site, small, "--no-grad-only", "--jobs", "1", "--namespace", "team", *targets)
    assert (summary["total"], summary["compiled"]) == (2, 2)
    assert warm(site, small, "--no-grad-only", "--check", "--namespace", "team", *targets)[0]["hits"] == 2
    assert warm(site, small, "--no-grad-only", "--check", *targets, status=1)[0]["missing"] == 2


def test_weights_are_not_read(site, small, tmp_path):
    """Those of a gigabyte that the file does not even have: a hole."""
    model = torch.nn.utils.skip_init(torch.nn.Linear, 1 << 14, 1 << 14, bias=False).eval()
    program = torch.export.export(model, (torch.randn(1, 1 << 14),))
    path = tmp_path / "large.pt2"
    torch.export.save(program, str(path))
    script = (
        "import resource, sys\n"
        "from stoker.export_archive.__main__ import main\n"
        "status = main(['--no-grad-only', sys.argv[1]])\n"
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n")
    peaks = []
    for each in (small, path):
        done = subprocess.run(
            [forked.python(), "-c", script, str(each)], capture_output=True, text=True, timeout=600,
            env={**site.env, "STOKER_RECORD": str(tmp_path / "manifest"), "STOKER_CAPTURES": "off"})
        status, peak = done.stdout.split()
        assert status == "0", done.stderr
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < (1 << 20) // 4, peaks  # KiB; the weight has one GiB.


# ---- The Python that reads it ------------------------------------------------------------------------


def wrapper(folder, *words):
    """A program python3 that starts this Python so."""
    folder.mkdir()
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {' '.join(words)} \"$@\"\n")
    path.chmod(0o755)
    return path


def test_without_a_python_that_has_pytorch_one_line_says_what_is_needed(site, small, tmp_path):
    bare = wrapper(tmp_path / "bare", "-S")
    for chosen, said in (("/no/such/python", "'/no/such/python' does not start"), (bare, "No module named 'torch'")):
        done = stoker(site, "warm", small, STOKER_PYTHON=str(chosen))
        assert done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1, done.stderr
        assert said in done.stderr and "a Python with PyTorch and the package stoker; STOKER_PYTHON names it" in done.stderr


def test_python3_reads_it_where_no_other_is_named(site, small, tmp_path):
    folder = wrapper(tmp_path / "bin").parent
    found = {"PATH": f"{folder}:{os.environ['PATH']}", "STOKER_PYTHON": ""}
    assert warm(site, small, "--no-grad-only", "--check", status=1, **found)[0]["missing"] == 1
    # The command that comes with the Python package names its own Python.
    program = "import sys; from stoker.command import main; sys.argv[0] = 'stoker'; main()"
    env = {name: value for name, value in site.env.items() if name != "STOKER_PYTHON"}
    done = subprocess.run(
        [forked.python(), "-c", program, "warm", str(small), "--no-grad-only", "--check"],
        env={**env, "PATH": "/nowhere"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and done.stdout.startswith("0 hits, 1 missing"), done.stdout + done.stderr


def test_nothing_is_imported_from_the_folder_that_it_is_started_in(site, small, tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit('imported')\n")
    done = subprocess.run(
        [str(BUILD / "bin" / "stoker"), "warm", str(small), "--no-grad-only", "--check"], cwd=tmp_path,
        env={**site.env, "STOKER_PYTHON": forked.python()}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "1 missing" in done.stdout, done.stderr


def test_a_python_that_is_killed_is_said(site, small, tmp_path):
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nkill -KILL $$\n")
    path.chmod(0o755)
    done = stoker(site, "warm", small, STOKER_PYTHON=str(path))
    assert done.returncode == 1 and "was ended by Killed" in done.stderr


def test_operators_and_classes_come_with_modules_that_are_named(site, tmp_path):
    (tmp_path / "of_the_job.py").write_text(
        "import dataclasses, torch\n"
        "@torch.library.custom_op('of_the_job::twice', mutates_args=())\n"
        "def twice(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
        "@twice.register_fake\ndef _(x):\n    return torch.empty_like(x)\n"
        "@dataclasses.dataclass\nclass Result:\n    a: torch.Tensor\n"
        "torch.export.register_dataclass(Result, serialized_type_name='of_the_job.Result')\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n        return Result(twice(x.sin()).cos())\n")
    program = (
        "import torch, of_the_job, sys\n"
        "torch.export.save(torch.export.export(of_the_job.Model(), (torch.randn(4),)), sys.argv[1])\n")
    path = tmp_path / "custom.pt2"
    env = {"PYTHONPATH": f"{site.env['PYTHONPATH']}:{tmp_path}"}
    subprocess.run([forked.python(), "-c", program, str(path)], env={**site.env, **env}, check=True, timeout=600)
    done = stoker(site, "warm", path, **env)
    assert done.returncode == 1 and re.search("torch.ops.of_the_job.twice.*--import", done.stderr), done.stderr
    summary, said = warm(site, path, "--import", "of_the_job", **env)
    assert summary["compiled"] > 0 and "of_the_job.twice.default (it has no mapping) is left to PyTorch" in said
    done = stoker(site, "warm", path, "--import", "no_such_module", **env)
    assert done.returncode == 1 and "--import no_such_module: No module named" in done.stderr


# ---- Archives that are refused -----------------------------------------------------------------------


@pytest.fixture
def read(tmp_path, monkeypatch, capfd):
    """Reads an archive in this process: (status, lines)."""
    monkeypatch.setenv("STOKER_RECORD", str(tmp_path / "manifest"))
    monkeypatch.setattr(reader, "_record_model", lambda *given: _prepare(*given[:4]))

    def call(path, *words):
        status = reader.main([*words, str(path)])
        return status, capfd.readouterr().err

    return call


def _prepare(archive, name, program, choices):
    """All that is done with a program before PyTorch sees it."""
    registered = checked.Registered(set(), exported.has_operator, exported.has_tree_type)
    calls.Calls(checked.checked(program, registered)).all(choices)
    stand_ins.tensors(archive.weights(name), archive.weight_bytes)
    stand_ins.tensors(archive.constants(name), archive.constant_bytes)


def rewritten(source, target, change):
    """A copy in which change({name below the root: bytes}) was made."""
    with zipfile.ZipFile(source) as archive:
        root = archive.namelist()[0].partition("/")[0]
        members = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(f"{root}/{name}", data)
    return target


def with_program(change, member="models/model.json"):
    def change_members(members):
        program = json.loads(members[member])
        change(program)
        members[member] = json.dumps(program).encode()

    return change_members


def graph_of(program):
    return program["graph_module"]["graph"]


def first_node(**fields):
    return with_program(lambda program: graph_of(program)["nodes"][0].update(fields))


def replaced(old, new):
    """In the text of the program."""
    def change(members):
        text = members["models/model.json"].decode()
        assert old in text
        members["models/model.json"] = text.replace(old, new).encode()

    return change


def size_written_as(text):
    return with_program(lambda program: graph_of(program)["tensor_values"]["x"]["sizes"].__setitem__(
        0, {"as_expr": {"expr_str": text, "hint": {"as_int": 8}}}))


def weight(**fields):
    return with_program(
        lambda config: config["config"]["first.weight"].update(fields), "data/weights/model_weights_config.json")


def tree(kind, context):
    spec = json.dumps([1, {"type": kind, "context": context, "children_spec": []}])
    return with_program(
        lambda program: program["graph_module"]["module_call_graph"][0]["signature"].update(out_spec=spec))


RUN = "__import__('os').system('touch ran')"
ENUM = json.dumps({"\\u005f_enum__": 1, "fqn": "os:system", "name": "x"}).replace("\\\\", "\\")

REFUSED = {
    "another archive version": (lambda m: m.update(archive_version=b"1"), "archive version is 1; this program reads 0"),
    "another format": (lambda m: m.update(archive_format=b"zip"), "archive_format is 'zip'"),
    "no format": (lambda m: m.pop("archive_format"), "no archive of torch.export: it has no member archive_format"),
    "big-endian": (lambda m: m.update(byteorder=b"big"), "byte order is 'big'"),
    "another schema": (
        with_program(lambda p: p["schema_version"].update(major=9, minor=1)),
        "has schema version 9.1; this program reads 8.x"),
    "no schema": (with_program(lambda p: p.pop("schema_version")), "has schema version None.None"),
    "no program": (lambda m: m.pop("models/model.json"), "holds no program"),
    "of AOTInductor": (
        lambda m: (m.pop("models/model.json"), m.update({"data/aotinductor/model/x.so": b""})), "AOTInductor"),
    "no weights": (lambda m: m.pop("data/weights/weight_0"), "Member 'data/weights/weight_0' is missing"),
    "no list of weights": (lambda m: m.pop("data/weights/model_weights_config.json"), "model_weights_config.json' is missing"),
    "pickled weights": (lambda m: m.update({"data/weights/model.pt": b""}), "are a pickle"),
    "a pickled weight": (weight(use_pickle=True), "'first.weight' of model 'model' is a pickled object"),
    "a weight elsewhere": (weight(path_name="../../../etc/passwd"), "lies in '../../../etc/passwd'"),
    "a weight of another file": (weight(path_name="/etc/passwd"), "lies in '/etc/passwd'"),
    "a short weight": (lambda m: m.update({"data/weights/weight_0": b"0123"}), "is no tensor"),
    "half an element": (lambda m: m.update({"data/weights/weight_0": b"012"}), "no whole elements"),
    "no JSON": (lambda m: m.update({"models/model.json": b"{"}), "is no JSON"),
    "no object": (lambda m: m.update({"models/model.json": b"[]"}), "is no JSON object"),
    "deep JSON": (lambda m: m.update({"models/model.json": b"[" * 100_000}), "is no JSON"),
    "a program without a graph": (with_program(lambda p: p["graph_module"].pop("graph")), "not as its schema says"),
    "a number in place of nodes": (
        with_program(lambda p: graph_of(p).update(nodes=7)), "not as its schema says"),
    "a size that is code": (size_written_as(RUN), "A size is written with"),
    "a size that is an attribute": (size_written_as("Integer(1).__class__"), "A size is written with"),
    "a symbol that is code": (size_written_as(f"Symbol({RUN!r})"), "A size is written with"),
    "a number that is code": (size_written_as(f"Float({RUN!r}, precision=53)"), "A size is written with"),
    "a size without an end": (
        size_written_as("Pow(Pow(Pow(Integer(9), Integer(9)), Integer(9)), Integer(9))"), "A size is written with"),
    "a power without an end": (size_written_as("Pow(Integer(9), Integer(99999999))"), "A size is written with"),
    "a deep size": (size_written_as("Add(" * 99 + "Integer(1)" + ")" * 99), "A size is written with"),
    "a huge size": (
        with_program(lambda p: graph_of(p)["tensor_values"]["x"]["sizes"].__setitem__(1, {"as_int": 1 << 50})),
        "A size is 1125899906842624"),
    "a range to count to": (
        with_program(lambda p: p["range_constraints"].update({"u999999999": {"min_val": 0, "max_val": 9}})),
        "a range for 'u999999999'"),
    "a function": (first_node(target="torch.hub.load"), "calls 'torch.hub.load', which is no operator"),
    "a loader": (first_node(target="torch.ops.load_library"), "which is no operator"),
    "an attribute": (first_node(target="torch.ops.aten.add.__class__"), "which is no operator"),
    "another module": (first_node(target="os.system"), "calls 'os.system'"),
    "a builtin": (first_node(target="_operator.attrgetter"), "calls '_operator.attrgetter'"),
    "a file": (first_node(target="torch.ops.aten.from_file.default"), "which does more than compute"),
    "a namespace": (first_node(target="torch.ops.debugprims.load_tensor.default"), "which is not registered"),
    "an operator that is none": (first_node(target="torch.ops.aten.save.default"), "which is not registered"),
    "a higher order": (first_node(target="torch.ops.higher_order.call_torchbind"), "which is not known here"),
    "a name that is code": (first_node(name=f"x\n    {RUN}"), "A value has the name"),
    "an input that is code": (replaced('{"name": "x"}', json.dumps({"name": f"x={RUN}"})), "A value has the name"),
    "an argument that is code": (
        with_program(lambda p: p["graph_module"]["module_call_graph"][0]["signature"].update(
            forward_arg_names=[f"x={RUN}"])), "A value has the name"),
    "a parameter that is code": (
        replaced('"parameter_name": "first.weight"', f'"parameter_name": "first.weight\\"+{RUN}"'),
        "A parameter has the name"),
    "an enum of any module": (tree("builtins.dict", ENUM), "keys or defaults that are objects"),
    "a default of any module": (
        tree("collections.defaultdict", {"default_factory_module": "os", "default_factory_name": "x", "dict_context": []}),
        "keys or defaults that are objects"),
    "a class that is not there": (tree("transformers.ModelOutput", "null"), "is not registered in this Python: --import"),
    "another device": (replaced('{"type": "cpu"', '{"type": "cuda"'), "is for processors"),
    "an object": (
        with_program(lambda p: graph_of(p)["inputs"].append({"as_custom_obj": {"name": "x", "class_fqn": "y"}})),
        "a class of its own"),
    "another dialect": (with_program(lambda p: p.update(verifiers=["EDGE"])), "in the dialect ['EDGE']"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_said_in_one_line(small, tmp_path, monkeypatch, read, what):
    monkeypatch.chdir(tmp_path)
    change, said = REFUSED[what]
    path = rewritten(small, tmp_path / "changed.pt2", change)
    status, lines = read(path)
    assert status == 1 and said in lines and lines.count("\n") == 1, lines
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "manifest").exists()


def test_a_pytorch_that_reads_them_otherwise_is_said(small, read, monkeypatch):
    monkeypatch.setattr(facts, "first_difference", lambda feature: f"{feature} are not there")
    status, lines = read(small)
    assert status == 1 and "This PyTorch does not read such archives" in lines and "archives of torch.export are not" in lines


def test_what_was_not_changed_is_read(small, tmp_path, read):
    assert read(rewritten(small, tmp_path / "same.pt2", lambda members: None)) == (0, "")


def test_files_that_are_no_whole_zip_are_refused(small, tmp_path, read):
    data, path = small.read_bytes(), tmp_path / "part.pt2"
    assert read(tmp_path / "none.pt2")[0] == 1
    for length in (4, 100, len(data) // 2, len(data) - 30, len(data) - 1):
        path.write_bytes(data[:length])
        status, lines = read(path)
        assert status == 1 and "no whole zip file" in lines and lines.count("\n") == 1, (length, lines)
    place = data.index(b'"graph_module"')
    path.write_bytes(data[:place] + b"\xff" * 20 + data[place + 20:])
    status, lines = read(path)
    assert status == 1 and "Member 'models/model.json' cannot be read: Bad CRC" in lines


def test_zip_bombs_are_not_unpacked(small, tmp_path, read):
    path = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/archive_version", "0")
        with archive.open("m/models/model.json", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(b" " * (1 << 20))
    status, lines = read(path)
    assert status == 1 and "has 314572800 bytes; at most 268435456 are read" in lines
    # One whose size is a lie.
    data = bytearray(path.read_bytes())
    central = data.rindex(b"m/models/model.json") - 46
    struct.pack_into("<I", data, central + 24, 1000)
    path.write_bytes(data)
    status, lines = read(path)
    assert status == 1 and "Member 'models/model.json'" in lines, lines


def test_weights_that_are_packed_or_larger_than_the_file_are_refused(small, tmp_path, read):
    def repacked(members):
        members["data/weights/weight_0"] = bytes(len(members["data/weights/weight_0"]))

    path = rewritten(small, tmp_path / "packed.pt2", repacked)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(tmp_path / "deflated.pt2", "w") as packed:
        for entry in archive.infolist():
            kind = zipfile.ZIP_DEFLATED if "weight_0" in entry.filename else zipfile.ZIP_STORED
            packed.writestr(entry.filename, archive.read(entry), kind)
    assert "is compressed" in read(tmp_path / "deflated.pt2")[1]
    data = bytearray(path.read_bytes())
    central = data.rindex(b"small/data/weights/weight_0") - 46
    struct.pack_into("<II", data, central + 20, 1 << 30, 1 << 30)
    path.write_bytes(data)
    assert f"has {1 << 30} bytes, as the zip file says, which has {len(data)} in all" in read(path)[1]


def test_members_that_lead_out_or_come_twice_are_refused(small, tmp_path, read):
    for name, said in (("small/../../evil", "leads out"), ("/etc/evil", "leads out"), ("small\\..\\evil", "leads out"),
                       ("small/models/model.json", "two members with the name 'models/model.json'")):
        path = tmp_path / "twice.pt2"
        shutil.copy(small, path)
        with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
            warnings.simplefilter("ignore")
            archive.writestr(name, b"{}")
        status, lines = read(path)
        assert status == 1 and said in lines, lines


class _Pickled:
    """Says so when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_nothing_is_unpickled_or_run_where_the_rest_is_in_order(site, small, tmp_path):
    """Through all of it: what jobs alone read, and what nothing needs."""
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w')"

    def change(members):
        members["data/sample_inputs/model.pt"] = pickle.dumps(_Pickled(ran))
        members["data/weights/unused.pt"] = pickle.dumps(_Pickled(ran))
        program = json.loads(members["models/model.json"])
        program["guards_code"] = [code]
        program["graph_module"]["metadata"] = {"custom": code}
        program["graph_module"]["module_call_graph"].append({"fqn": f"x.{code}", "signature": None})
        for node in graph_of(program)["nodes"]:
            node["metadata"] = {"source_fn_stack": f"x,torch.{code}", "nn_module_stack": f"a,{code},b", "from_node": code}
        members["models/model.json"] = json.dumps(program).encode()

    path = rewritten(small, tmp_path / "hostile.pt2", change)
    summary, _ = warm(site, path)
    assert summary["compiled"] > 0 and not ran.exists()
    assert warm(site, small, "--check")[0]["missing"] == 0  # They are the requests of the archive as it was.


# ---- Sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size, said", [
    ("x", "is not of the form x.0=1,8,32"), ("x.0=", "is not of the form"), ("y.0=4", "no program has an input 'y'"),
    ("x.0=1", "1 is out of the range that it was exported for (s"), ("x.0=65", "2 to 64"),
    ("x.1=16", "was exported for 16 alone"), ("x.2=4", "'x' has 2 dims"),
    ("x.0=" + ",".join(map(str, range(2, 40))), "asks for 38 combinations; at most 32 are traced")])
def test_sizes_that_no_call_can_have_are_refused(small, read, size, said):
    status, lines = read(small, "--size", size)
    assert status == 1 and said in lines and lines.count("\n") == 1, lines


def test_sizes_of_several_inputs_and_numbers_are_combined(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x, y, n):
            return x.sum() * n + y.sum()

    batch, dynamic = torch.export.Dim("batch", min=2, max=64), torch.export.Dim.DYNAMIC
    program = torch.export.export(
        Model(), (torch.ones(6, 3), torch.ones(2, 5), 4), dynamic_shapes=({0: 2 * batch}, {1: batch + 2}, dynamic))
    path = tmp_path / "numbers.pt2"
    torch.export.save(program, str(path))

    def made(*texts):
        choices = [calls.Choice(text) for text in texts]
        checked_program = checked.checked(
            Archive(path).models()["model"], checked.Registered(set(), exported.has_operator, exported.has_tree_type))
        return sorted(
            (x.shape[0], y.shape[1], n) for _, (x, y, n), _ in calls.Calls(checked_program).all(choices))

    assert made() == [(6, 5, 4)]
    assert made("n=3,7", "x.0=8,12") == [(8, 6, 3), (8, 6, 7), (12, 8, 3), (12, 8, 7)]
    assert made("x.0=8,12", "y.1=8,9") == [(12, 8, 4)]  # They are sizes of one batch.
    with pytest.raises(ArchiveError, match="no sizes of the program make it 7"):
        made("x.0=7")
    assert made("n.0=3") == made("y=3") == made()  # Nobody's, which the reader says.


def test_what_is_no_archive_takes_no_options_of_one(site, tmp_path):
    manifest = tmp_path / "m"
    manifest.touch()
    for words in (("--size", "x.0=1"), ("--import", "m"), ("--no-grad-only",)):
        done = stoker(site, "warm", manifest, *words)
        assert done.returncode == 1 and "are for an archive of torch.export" in done.stderr
    done = stoker(site, "warm", "--hot", "3", "--no-grad-only")
    assert done.returncode == 2 or "are for an archive" in done.stderr


def test_the_reader_writes_where_it_is_told(small, monkeypatch, capfd):
    monkeypatch.delenv("STOKER_RECORD", raising=False)
    assert reader.main([str(small)]) == 2
    assert "STOKER_RECORD does not name the manifest" in capfd.readouterr().err
