"""Samples become a median with its spread."""

import pytest

from figures import figure, median, spread


def test_figure_of_samples_has_median_spread_and_count():
    assert figure([4.0, 1.0, 2.0, None, 3.0, 5.0]) == {
        "median": 3, "min": 1, "q1": 2, "q3": 4, "max": 5, "samples": 5}


def test_figure_of_one_sample_is_it():
    assert figure([0.5]) == {
        "median": 0.5, "min": 0.5, "q1": 0.5, "q3": 0.5, "max": 0.5, "samples": 1}


@pytest.mark.parametrize("samples", [[], [None]])
def test_figure_of_nothing_is_none(samples):
    assert figure(samples) is None
    assert median(figure(samples)) is None


def test_spread_is_the_farther_quartile():
    assert spread(figure([8.0, 9.0, 10.0, 10.5, 11.0])) == pytest.approx(0.1)


def test_spread_of_one_sample_is_unknown():
    assert spread(figure([3.0])) is None
    assert spread(None) is None
