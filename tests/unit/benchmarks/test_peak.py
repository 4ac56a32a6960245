"""The peak is the fastest way that the contract allows, and no row is given more than all of it."""

import peak


def test_fastest_f32_may_be_products_of_parts():
    assert peak.fastest((100, None)) == {"float32": 100, "bfloat16": 100}
    assert peak.fastest((100, 200)) == {"float32": 100, "bfloat16": 200}
    assert peak.fastest((100, 1200)) == {"float32": 200, "bfloat16": 1200}


def test_peaks_keep_the_fastest_of_a_run(monkeypatch):
    peaks = peak.Peaks(2, has_tiles=False)
    for f32, bf16 in ((60, 90), (100, 80), (70, 85)):
        rates = {"f32": f32, "bf16": bf16}
        monkeypatch.setattr(peak, "_rate", lambda name, threads, has_tiles, rates=rates: rates[name])
        peaks.measure()
    assert peaks.rates == {"float32": 100, "bfloat16": 100}


def test_fill_shares_gives_none_to_a_row_faster_than_the_peak():
    rows = [
        {"dtype": "float32", "flops": 50e9, "steady_ms": 1000.0},
        {"dtype": "float32", "flops": 136e9, "steady_ms": 1000.0},
        {"dtype": "float32", "flops": None, "steady_ms": 1000.0},
        {"dtype": "float32", "flops": 50e9, "steady_ms": None}]
    assert peak.fill_shares(rows, {"float32": 100e9}) == 1
    assert [row["peak_share"] for row in rows] == [0.5, None, None, None]
