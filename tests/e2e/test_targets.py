"""STOKER_TARGET: processors that can do more compile for what they have in common with others."""

import re

import pytest

LEAST = "cpu/x86-64-v3"
LEVEL4 = "cpu/x86-64-v4"
ALL = "cpu/x86-64-v4+amx_bf16+amx_int8+avx512_bf16+avx512_fp16+avx512_vnni+avx_vnni"


def processor(site):
    """What this one can do."""
    return re.search(r"^ok    processor +(cpu/[^\s;]+)", site.tool("doctor"), re.MULTILINE)[1]


def targets_of_artifacts(site):
    return {line.split()[-1] for line in site.tool("ls").splitlines() if " artifact " in line}


@pytest.mark.parametrize("target", [LEAST, LEVEL4])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_kernels_are_of_the_target_that_is_named(site, target, dtype):
    whole = processor(site)
    if target != LEAST and not whole.startswith(LEVEL4):
        pytest.skip(f"this processor is {whole}")
    site.env["STOKER_TARGET"] = target
    cold, warm = (site.run("mlp,resnet", "--dtype", dtype) for _ in range(2))
    assert targets_of_artifacts(site) == {target}
    expected = f"{whole}; STOKER_TARGET: {target}" if whole != target else whole
    assert expected in site.tool("doctor").splitlines()[1]
    for name, result in cold.items():
        assert result["warnings"] == [], name
        assert result["error"] <= (1e-5 if dtype == "float32" else 2e-2), name
        assert warm[name]["error"] == result["error"], name
        assert warm[name]["last"]["captured"], name
    del site.env["STOKER_TARGET"]
    without = site.run("resnet", "--dtype", dtype)
    assert ("captured" in without["last"]) == (whole == target)


@pytest.mark.parametrize("target, said", [
    ("avx2", "'avx2'"), ("cuda/sm_90a", "target 'cuda/sm_90a' is no processor"), (ALL, f"Code for {ALL} needs ")])
def test_a_target_that_cannot_be_is_said_once_and_everything_runs_in_eager(site, target, said):
    if processor(site) == target:
        pytest.skip("this processor has it all")
    site.env["STOKER_TARGET"] = target
    results = site.run("mlp,resnet")
    warnings = [warning for result in results.values() for warning in result["warnings"]]
    assert len(warnings) == 1 and "STOKER_TARGET: " in warnings[0] and said in warnings[0], warnings
    assert all(result["error"] <= 1e-5 and result["last"] is None for result in results.values())
    assert re.search("^FAIL  processor .*STOKER_TARGET", site.tool("doctor", check=False), re.MULTILINE)
