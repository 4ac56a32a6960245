"""Training steps of the compiled model beside eager PyTorch: losses, gradients, and where the optimizer went. Each way
is one artifact: no operator is left to PyTorch, so that no graph is cut."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked

# In relation to the norm of what eager PyTorch has. A value of ResNet within rounding of zero takes the
# other side of a ReLU: eager PyTorch in another memory layout differs from itself by up to 4e-3.
# AdamW divides by the gradient's own size, which is rounding alone where a gradient is next to nothing.
MODELS = {
    "mlp": ("sgd", {"loss": 1e-5, "gradient": 1e-5, "move": 1e-5, "buffer": 1e-5}),
    "gpt2": ("adamw", {"loss": 1e-5, "gradient": 1e-5, "move": 1e-3, "buffer": 1e-5}),
    "resnet": ("sgd", {"loss": 1e-5, "gradient": 2e-2, "move": 2e-2, "buffer": 1e-5})}


@pytest.mark.parametrize("model", MODELS)
def test_training_steps_equal_eager(site, model):
    optimizer, tolerances = MODELS[model]
    result = site.run(model, "--train", optimizer, "--batch", 4, "--layers", 4)
    assert result["segments"] == [1, 1], result["fallbacks"]
    assert site.stats()["compiles"] == 2  # What is asked for ahead of a backward pass is what it calls.
    assert not result["fallbacks"]
    assert "graphs_eager" not in result["counters"]
    for name, tolerance in tolerances.items():
        errors = result["errors"][name]
        assert len(errors) == 3 and max(errors) <= tolerance, (name, errors)


def test_dynamo_does_not_trace_the_compiler_of_a_backward_pass(site):
    job = pathlib.Path(__file__).with_name("inner_gradient_job.py")
    done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["error"] <= 1e-5 and result["graphs"] == 3
    assert result["frames"] <= 4 and result["warnings"] == []  # The function and what resumes it.


def test_what_is_compared_is_as_in_eager(site):
    """Of 16-bit floats, which one kernel keeps in 32 bits: comparisons, whole numbers, places; gradients of maxima."""
    job = pathlib.Path(__file__).with_name("steps_job.py")
    done = subprocess.run([forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 174
    for kind, case, dtype, off, count in found:
        if kind == "steps":
            assert off == 0, (case, dtype, off, count)
        elif kind == "units":
            assert off <= count
        else:
            assert off <= (1e-4 if dtype == "torch.float32" else 0.1), (case, dtype, off)
