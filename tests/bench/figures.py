"""A figure of a benchmark: the median of its samples, how far they spread, and how many there are."""

import statistics


def figure(samples):
    """{"median", "min", "q1", "q3", "max", "samples"} of what was measured, in its unit; None of nothing."""
    samples = sorted(sample for sample in samples if sample is not None)
    if not samples:
        return None
    q1, median, q3 = (
        statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else 3 * samples)
    return {
        "median": median, "min": samples[0], "q1": q1, "q3": q3, "max": samples[-1],
        "samples": len(samples)}


def median(value):
    """Of a figure that may be None."""
    return None if value is None else value["median"]


def spread(value):
    """How far the farther quartile is from the median, as a share of it; None of a single sample."""
    if value is None or value["samples"] < 2 or not value["median"]:
        return None
    return max(value["q3"] - value["median"], value["median"] - value["q1"]) / value["median"]


def ratio(a, b):
    return a / b if a and b else None
