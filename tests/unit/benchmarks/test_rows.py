"""What starts report becomes rows of medians."""

import pytest

import cpu
import rows
import warm


def test_table_aligns_text_left_and_numbers_right():
    lines = [["gpt2", "eager", "1.00"], ["b", "x", "12.00"]]
    assert rows.table(["model", "", "ms"], lines).splitlines() == [
        "model            ms", "-" * 19, "gpt2   eager   1.00", "b      x      12.00"]


def test_row_of_starts_pools_calls_of_the_warm_ones():
    cold = [
        {"first_call_s": 4.0, "ready_s": 2.0, "graphs": 1, "steady_samples_s": [9.0]},
        {"first_call_s": 3.0, "ready_s": 1.0, "graphs": 1, "steady_samples_s": [9.0]}]
    warm_starts = [
        {"first_call_s": 0.1, "ready_s": 0.02, "steady_samples_s": [0.010, 0.020], "sources": ["disk"]},
        {"first_call_s": 0.3, "ready_s": 0.04, "steady_samples_s": [0.030], "sources": ["disk"]}]
    row = rows.row_of("gpt2", "float32", 1, "stoker", cold, warm_starts, 5.0)
    assert row["cold_first_call_s"] == 3.5 and row["warm_first_call_s"] == pytest.approx(0.2)
    assert row["compile_s"] == 1.5 and row["load_s"] == pytest.approx(0.03)
    assert row["steady_ms"] == pytest.approx(20) and row["figures"]["steady_ms"]["samples"] == 3
    assert row["warm_sources"] == ["disk"] and row["flops"] == 5.0 and "error" not in row


def test_row_of_an_implementation_without_warm_starts_takes_the_cold_one():
    row = rows.row_of("gpt2", "float32", 1, "eager", [
        {"first_call_s": 0.5, "steady_samples_s": [0.1]}], [])
    assert row["steady_ms"] == pytest.approx(100) and row["warm_first_call_s"] is None


def test_row_of_a_start_that_failed_has_its_error():
    row = rows.row_of("gpt2", "float32", 1, "openvino", [{"error": "no such thing"}], [])
    assert row["error"] == "no such thing" and row["steady_ms"] is None


@pytest.mark.parametrize("dtype, error", [("float32", 1e-3), ("bfloat16", 1.0), ("float32", float("nan"))])
@pytest.mark.parametrize("of_warm", [False, True])
def test_row_of_a_wrong_result_has_no_times(dtype, error, of_warm):
    right = {"first_call_s": 0.5, "rel_err": 1e-6, "steady_samples_s": [0.1]}
    wrong = right | {"rel_err": error}
    row = rows.row_of("gpt2", dtype, 1, "inductor", [right if of_warm else wrong], [wrong])
    assert "off by" in row["error"] and row["steady_ms"] is None and row["warm_first_call_s"] is None
    assert warm.row_of("gpt2", "inductor", [wrong | {"rel_err": 1.0, "start_s": 0.1}])["start_s"] is None


def test_row_of_stoker_that_ran_in_eager_has_no_times():
    start = {"first_call_s": 0.5, "rel_err": 1e-7, "steady_samples_s": [0.1], "graphs_eager": 2}
    row = rows.row_of("gpt2", "float32", 1, "stoker", [start], [start])
    assert row["error"] == "2 graphs ran in eager PyTorch." and row["steady_ms"] is None


def test_row_of_a_start_that_failed_is_compared_with_nothing():
    timed = {"first_call_s": 0.5, "rel_err": 1e-7, "steady_samples_s": [0.1]}
    wrong = rows.row_of("gpt2", "float32", 1, "openvino", [timed, {"error": "died"}], [])
    right = rows.row_of("gpt2", "float32", 1, "eager", [timed | {"steady_samples_s": [0.2]}], [])
    assert cpu.best_of([wrong, right], ["openvino", "eager"]) == pytest.approx(200)


def test_warm_row_has_medians_and_whether_any_start_traced():
    starts = [
        {"start_s": 0.3, "compile_call_s": 0.2, "frames_traced": 0, "steady_samples_s": [0.01, 0.03]},
        {"start_s": 0.5, "compile_call_s": 0.1, "frames_traced": 2, "steady_samples_s": [0.02]},
        {"start_s": 0.4, "compile_call_s": 0.3, "frames_traced": 0, "steady_samples_s": []}]
    row = warm.row_of("gpt2", "precompile", starts)
    assert (row["start_s"], row["compile_call_s"], row["frames_traced"]) == (0.4, 0.2, 2)
    assert row["steady_ms"] == pytest.approx(20) and row["guards"] is None
    assert row["figures"]["start_s"] == {
        "median": 0.4, "min": 0.3, "q1": pytest.approx(0.35), "q3": pytest.approx(0.45), "max": 0.5,
        "samples": 3}


def test_warm_cells_say_whether_anything_was_traced():
    starts = {"start_s": 0.3, "frames_traced": 0}
    assert warm.cells(warm.row_of("gpt2", "stoker", [starts]))[6] == "no"
    assert warm.cells(warm.row_of("gpt2", "stoker", [starts | {"frames_traced": 3}]))[6] == "3"
    assert warm.cells(warm.row_of("gpt2", "stoker", [{"error": "died"}]))[6] == "-"
