"""Calls on a GPU that write to their inputs, without one."""

from types import SimpleNamespace

import pytest
import torch

from stoker.graph.layout import row_major
from stoker.graph.program import Segment, SegmentInput, SegmentOutput
from stoker.libstoker.library import FAILED_PRECONDITION, INTERNAL, StokerError
from stoker.pytorch import devices
from stoker.runtime.cuda_executable import SizedOnCuda


def call_of(run, monkeypatch):
    """Of a segment with two outputs, the second of which updates its first input."""
    monkeypatch.setattr(devices, "stream_of", lambda device: 0)
    layout = row_major((4,))
    executable = SimpleNamespace(device=torch.device("cpu"), takes_turns=True, verifies=False, run=run)
    return SizedOnCuda(executable, Segment(
        "", [SegmentInput(5, layout, False), SegmentInput(6, layout, False)],
        [SegmentOutput(7, torch.float32, layout), SegmentOutput(8, torch.float32, layout, 0)]), (), lets_go={5, 6})


def slots_of(*tensors):
    return [None] * 5 + list(tensors)


def test_an_output_that_updates_an_input_is_this(monkeypatch):
    seen = []
    call = call_of(lambda arguments: seen.append((list(arguments[0]), list(arguments[4]))), monkeypatch)
    x, y = torch.zeros(4), torch.ones(4)
    for _ in range(2):
        made, updated = call(slots_of(x, y))
        assert updated is x and made.shape == (4,)
        assert seen.pop() == ([x.data_ptr(), y.data_ptr()], [made.data_ptr(), None])
    assert call.updated == [5] and set(call.make_ahead([0, 1])) == {0}


def test_one_that_lies_otherwise_is_updated_as_a_copy(monkeypatch):
    call = call_of(lambda arguments: None, monkeypatch)
    x = torch.zeros(4, 2)[:, 0]
    _, updated = call(slots_of(x, torch.ones(4)))
    assert updated.stride() == (1,) and updated.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("code, error", [(INTERNAL, RuntimeError), (FAILED_PRECONDITION, StokerError)])
def test_a_graph_that_may_have_written_does_not_start_over(monkeypatch, code, error):
    def fail(arguments):
        raise StokerError(code, "Launch failed.")

    with pytest.raises(error, match="Launch failed") as raised:
        call_of(fail, monkeypatch)(slots_of(torch.zeros(4), torch.ones(4)))
    assert isinstance(raised.value, StokerError) == (code != INTERNAL)
