"""A run is stored whole, with where it was made, in a file that can be read back and compared."""

import argparse

import pytest

import runs
import store


@pytest.mark.parametrize("vendor, target, cores, name", [
    ("GenuineIntel", "cpu/x86-64-v4+amx_bf16+amx_int8+avx512_bf16", 2, "intel-amx-2cores"),
    ("GenuineIntel", "cpu/x86-64-v4", 8, "intel-avx512-8cores"),
    ("AuthenticAMD", "cpu/x86-64-v4+avx512_bf16", 16, "amd-avx512-16cores"),
    ("AuthenticAMD", "cpu/x86-64-v3", 2, "amd-avx2-2cores"),
    (None, "cpu/x86-64-v3", 2, "other-avx2-2cores")])
def test_processor_class_by_vendor_and_target(vendor, target, cores, name):
    assert store.processor_class(vendor, target, cores) == name


def test_path_names_bench_processor_and_pytorch(tmp_path):
    run = runs.conditions(packages={"torch": "2.15.0+cpu"})
    assert store.path_of("warm", run, tmp_path).name == "warm-intel-amx-2cores-torch2.15.0.json"


def test_written_run_is_read_back_with_a_row_on_each_line(tmp_path):
    run = runs.cpu_run()
    path = store.write("cpu", run["run"], run["rows"], tmp_path / "results", peak_flops={"float32": 2e12})
    assert store.read(tmp_path / "results") == [run | {"peak_flops": {"float32": 2e12}}]
    lines = [line for line in path.read_text().splitlines() if '"model": ' in line]
    assert len(lines) == len(run["rows"])


def test_rounded_shortens_floats_alone():
    assert store.rounded({"a": [1.23456789, 7, "x", None, True], "b": 123456.7}) == {
        "a": [1.2346, 7, "x", None, True], "b": 123460.0}


def parse(*arguments):
    parser = argparse.ArgumentParser()
    store.add_arguments(parser)
    return parser, parser.parse_args(arguments)


@pytest.mark.parametrize("arguments, changes, whole, complaint", [
    ([], " M file", False, None),
    (["--store"], "", True, None),
    (["--store"], " M file", True, " M file"),
    (["--store", "--allow-dirty"], " M file", True, None),
    (["--store"], "", False, "whole runs")])
def test_store_is_refused_before_anything_runs(
        arguments, changes, whole, complaint, monkeypatch, capsys):
    monkeypatch.setattr(store, "changes", lambda: changes)
    parser, parsed = parse(*arguments)
    if complaint is None:
        store.check_arguments(parser, parsed, whole)
        return
    with pytest.raises(SystemExit):
        store.check_arguments(parser, parsed, whole)
    assert complaint in capsys.readouterr().err


def test_kept_parts_are_of_the_same_run_at_another_time(tmp_path):
    run = runs.conditions()
    store.Kept(tmp_path / "kept", run).write("gpt2-float32-1", [1.5])
    assert store.Kept(tmp_path / "kept", run | {"date": "later"}).read("gpt2-float32-1") == [1.5]
    assert store.Kept(tmp_path / "kept", run).read("bert-float32-1") is None
    for changed in ({"commit": "another"}, {"threads": 1}, {"packages": {"torch": "2.16.0"}}):
        assert store.Kept(tmp_path / "kept", run | changed).read("gpt2-float32-1") is None
    nowhere = store.Kept(None, run)
    nowhere.write("gpt2-float32-1", [1.5])
    assert nowhere.read("gpt2-float32-1") is None
