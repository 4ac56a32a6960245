"""Packed weights follow what is in memory, whoever writes to it."""

import json
import pathlib
import subprocess

import pytest
from e2e import forked


def test_writes_to_a_row_that_nobody_announces_are_found(site):
    job = pathlib.Path(__file__).with_name("weights_job.py")
    done = subprocess.run(
        [forked.python(), str(job)], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    calls = result["calls"]
    assert all(before == 0 for before, _ in calls.values()), calls
    assert calls.pop("write_in_inference_mode") == [0, 0]  # What has no version is looked at in every call.
    assert calls and all(after for _, after in calls.values()), calls  # Found, and no sooner than it was looked for.
    assert result["counters"]["repairs"] == len(calls)
    assert "graphs_eager" not in result["counters"]
    assert done.stderr.count("behind PyTorch's back") == 1, done.stderr
    assert "[2048, 512]" in done.stderr


@pytest.mark.parametrize("way", ["torch", "direct"])
def test_weights_go_when_their_model_does(site, way):
    job = pathlib.Path(__file__).with_name("alive_job.py")
    for _ in ("recorded", "found"):
        done = subprocess.run(
            [forked.python(), str(job), way], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["alive"] == 0, result
        # The second time around nothing is compiled or loaded: half a weight is noise.
        assert max(result["grown_mb"][2:]) < 18, result
        assert result["counters"]["bindings"] == 4, result


def test_a_buffer_that_calls_change_costs_no_binding(site):
    """As the keys and values of a language model that generates."""
    program = """
import copy, torch, stoker

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
        self.register_buffer("seen", torch.zeros(8, 64))

    def forward(self, x, place):
        self.seen.index_copy_(0, place, self.layer(x))
        return self.seen.sum(0)

with torch.no_grad():
    model = Model()
    twin = copy.deepcopy(model)
    compiled = torch.compile(model, backend="stoker")
    for place in range(8):
        arguments = torch.randn(1, 64), torch.tensor([place])
        torch.testing.assert_close(compiled(*arguments), twin(*arguments))
torch.testing.assert_close(model.seen, twin.seen)
print(stoker.counters()["bindings"])
"""
    for _ in range(2):
        done = subprocess.run(
            [forked.python(), "-c", program], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "1\n"
