"""README.md's figures are those of the stored runs."""

import pytest

import readme
import store

import runs


def lines_of(*stored):
    return readme.figures_text(list(stored)).splitlines()


def test_readme_has_the_figures_of_the_stored_runs():
    text = readme.README.read_text()
    assert text == readme.updated(text, store.read()), "Run ./dev bench readme."


def test_updated_without_runs_says_so():
    text = f"before\n{readme.BEGIN}\n\nold\n{readme.END}\nafter\n"
    assert readme.updated(text, []) == (
        f"before\n{readme.BEGIN}\n\n{readme.NO_RUNS}\n{readme.END}\nafter\n")


def test_updated_twice_is_updated_once():
    once = readme.updated(f"{readme.BEGIN}{readme.END}", [runs.cpu_run(), runs.warm_run()])
    assert readme.updated(once, [runs.cpu_run(), runs.warm_run()]) == once


@pytest.mark.parametrize("text", ["", readme.BEGIN, readme.END])
def test_updated_without_its_lines_fails(text):
    with pytest.raises(ValueError, match="README.md lacks the line"):
        readme.updated(text, [])


def test_table_has_medians_spread_and_samples():
    lines = lines_of(runs.cpu_run())
    assert lines[0] == (
        "| float32, batch 1 | GPT-2 small | BERT-base | ResNet-18 | ViT-B/16 | spread | samples |")
    assert "| a call, ms: eager | 110 | - | - | - | 5% | 3 |" in lines
    assert "| OpenVINO | 80.0 | - | - | - | - | 1 |" in lines
    assert "| **Stoker** | **41.0** | **9.87** | - | - | 7% | 1–4 |" in lines
    assert not any("torch.compile" in line for line in lines)
    assert "| first call of the first process, s: **Stoker** | **3.50** | - | - | - | - | 1 |" in lines


def test_table_names_where_it_was_measured():
    text = " ".join(lines_of(runs.cpu_run(dirty=True)))
    assert " ".join(text.split()).endswith(
        "- `./dev bench cpu`: Some Processor (family 6, model 7, stepping 8), `cpu/x86-64-v4+amx_bf16`, "
        "2 cores, 2 threads; PyTorch 2.15.0, Triton 3.9.0, ONNX Runtime 1.31.1, OpenVINO 2026.4.1; "
        "commit 0123456789 with changes, 2026-11-22.")


def test_table_says_what_holds_elsewhere():
    text = " ".join(lines_of(runs.cpu_run()))
    assert "In this table a call of Stoker takes 0.51 to 0.51 times" in text
    assert "In bfloat16 and at batch 4 a call of Stoker takes 1.05 to 1.05 times" in text
    assert "at most 2.0e-06 of their norm" in text


def test_starts_that_trace_again_are_marked():
    lines = lines_of(runs.warm_run())
    assert max(len(line) for line in lines if not line.startswith("|")) <= readme.TEXT_COLUMNS
    assert "| with caching_precompile | 5.10† | 1.10 | - | - | 5% | 3 |" in lines
    assert any("†: traced again." in line for line in lines)


def test_no_mark_is_explained_where_there_is_none():
    run = runs.warm_run()
    run["rows"] = [row for row in run["rows"] if row["impl"] != "precompile"]
    assert not any("traced again" in line for line in lines_of(run))


def test_each_processor_has_the_table_of_its_newest_pytorch():
    old = {"packages": runs.PACKAGES | {"torch": "2.9.1"}, "commit": "aaaaaaaaaa"}
    amd = {"processor_class": "amd-avx512-2cores", "commit": "bbbbbbbbbb"}
    text = readme.figures_text(
        [runs.cpu_run(**old), runs.cpu_run(), runs.warm_run(**old), runs.cpu_run(**amd)])
    assert "aaaaaaaaaa" not in text
    assert text.index("bbbbbbbbbb") < text.index("0123456789")
    assert text.count("| float32, batch 1 |") == 2


@pytest.mark.parametrize("value, text", [
    (146.4, "146"), (49.71, "49.7"), (3.876, "3.88"), (0.0512, "0.051")])
def test_compact_keeps_three_digits(value, text):
    assert readme.compact(value) == text


def test_table_of_a_daemon_on_another_host():
    rows = [
        {"job": "compiles", "first_call_s": 4.5, "steady_ms": 166.0, "compiles": 1, "captures_found": 0, "said": []},
        {"job": "starts warm", "first_call_s": 1.25, "steady_ms": 97.0, "compiles": 0, "captures_found": 1, "said": []},
        {"job": "wrong token", "first_call_s": 3.4, "steady_ms": 273.0, "compiles": 0, "captures_found": 0,
         "said": ["a graph runs in eager: ..."]}]
    older = {"bench": "remote", "model": "gpt2", "run": runs.conditions(date="2026-01-01T10:00:00+00:00"), "rows": [],
             "daemon": "process"}
    lines = lines_of(
        older, {"bench": "remote", "model": "gpt2", "run": runs.conditions(), "rows": rows, "daemon": "container"})
    assert any(line.startswith("The daemon is a container. Each job") for line in lines)
    assert "| a job that compiles | 4.50 | 166 | 1 | 0 |" in lines
    assert "| a job that starts warm | 1.25 | 97.0 | 0 | 1 |" in lines
    assert "| a job with a wrong token: eager | 3.40 | 273 | - | - |" in lines
    assert any(line.startswith("- `./dev demo remote`: Some Processor") for line in lines)


def test_table_of_servers():
    rows = [
        {"case": "1 KiB", "server": "stokerd", "requests_per_s": 76210.4, "p99_ms": 2.86},
        {"case": "1 KiB", "server": "redis", "requests_per_s": 88593.6, "p99_ms": 0.439}]
    lines = lines_of({
        "bench": "service", "run": runs.conditions(), "rows": rows, "idle": {"connections": 10000, "rss_mib": 118.0},
        "stampede": {"clients": 1000, "compiles": 1, "errors": 0, "p99_after_compile_ms": 790.0}})
    assert "| 1 KiB | 76,210 | 2.86 | - | - | 88,594 | 0.439 |" in lines
    text = " ".join(lines)
    assert "1 compile, 0 errors, 99% served within 790 ms of its end" in text and "10,000 idle connections: 118 MiB." in text


def test_a_row_with_an_error_is_in_no_table_and_compared_with_nothing():
    run = runs.cpu_run()
    next(row for row in run["rows"] if row["impl"] == "openvino")["error"] = "The result is wrong."
    lines = lines_of(run)
    assert not any("OpenVINO |" in line for line in lines)
    assert "In this table a call of Stoker takes 0.37 to 0.37 times" in " ".join(lines)
