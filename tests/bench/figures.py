"""A figure of a benchmark: the median of its samples, how far they spread, and how many there are; and whether what
was measured is what it is said to be."""

import statistics

# Of a result's norm: ten times what rounding to the dtype costs the least exact of the peers. Products of f32 in TF32 or
# bf16 are off by more.
MAX_ERRORS = {"float32": 2e-5, "bfloat16": 0.1}


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


def relative_error(result, reference):
    """Of two tensors, as a share of the reference's norm."""
    result, reference = result.double().flatten(), reference.double().flatten()
    return float((result - reference).norm() / reference.norm())


def fault_of(implementation, dtype, start):
    """Why the times of a start are not those of this implementation in this dtype, or None."""
    if "error" in start:
        return start["error"]
    error = start.get("rel_err", 0.0)
    if not error <= MAX_ERRORS[dtype]:  # Nor NaN.
        return f"The result is wrong: it is off by {error:.1e} of its norm, in {dtype}."
    if implementation.startswith("stoker") and start.get("graphs_eager"):
        return f"{start['graphs_eager']} graphs ran in eager PyTorch."
    return None
