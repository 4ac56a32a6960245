"""Convolutions with what follows them, as cuDNN is asked for them; no GPU answers."""

import contextlib
import types

import pytest
import torch

import stoker
from stoker.runtime.convolutions import cudnn
from stoker.runtime.convolutions import fused as operator
from stoker.runtime.results import writer_of

BF16 = torch.bfloat16
FUSED = cudnn.Fused(
    torch.device("cuda", 0), BF16, (2, 16, 7, 9), (24, 16, 3, 3), (2, 24, 7, 9), (1, 1), (1, 1), (1, 1), True, False)
HANDLE = types.SimpleNamespace(address=None)  # Of no GPU.


@pytest.mark.parametrize("has_residual", [False, True])
def test_graphs_are_complete_but_for_a_gpu(has_residual):
    """cuDNN checks each descriptor on its own; the graph asks for the device."""
    fused = FUSED._replace(has_residual=has_residual)
    assert len(cudnn.steps_of(fused)) == 2 + has_residual
    with pytest.raises(cudnn.Refused, match="attribute 800"):
        cudnn.Kernel(fused, HANDLE)


def test_volumes_are_taken():
    fused = FUSED._replace(
        image=(2, 16, 5, 7, 9), weight=(24, 16, 3, 3, 3), result=(2, 24, 5, 7, 9), stride=(1,) * 3, padding=(1,) * 3, dilation=(1,) * 3)
    with pytest.raises(cudnn.Refused, match="attribute 800"):
        cudnn.Kernel(fused, HANDLE)


def test_images_lie_channels_last():
    for shape, layout in (((2, 3, 4, 5), torch.channels_last), ((2, 3, 4, 5, 6), torch.channels_last_3d)):
        assert cudnn.channels_last(shape) == list(torch.empty(shape, memory_format=layout).stride())


def test_what_is_refused_is_asked_for_once(monkeypatch):
    asked = []

    def refuse(fused, handle):
        asked.append(fused)
        raise cudnn.Refused("no kernel")

    monkeypatch.setattr(cudnn, "Kernel", refuse)
    monkeypatch.setattr(cudnn, "_handle", lambda device: None)
    monkeypatch.setattr(cudnn, "_kernels", {})
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.inference_mode(False))
    before = stoker.counters().get("convolutions_in_steps", 0)
    assert [cudnn.on(FUSED, []) for _ in range(3)] == [None] * 3 and asked == [FUSED]
    assert stoker.counters()["convolutions_in_steps"] == before + 1


class Proposal:
    """An engine's, with what cuDNN notes of it."""

    def __init__(self, notes, behavior):
        self.notes = {1303: notes, 1305: behavior}

    def objects(self, attribute, kind, most):
        return [self]

    def numbers(self, attribute, kind, most=1):
        return self.notes.get(attribute, [0])


@pytest.mark.parametrize("is_repeatable, proposals, taken", [
    (False, [([], [0]), ([4], [3])], 1), (True, [([], [0]), ([4], [3]), ([0, 1], [])], 2), (True, [([4], []), ([], [0, 3])], None)])
def test_kernels_that_are_compiled_first_are_not_taken(monkeypatch, is_repeatable, proposals, taken):
    """Nor those that do not repeat, where that is asked for."""
    proposals = [Proposal(*notes) for notes in proposals]

    class Object(Proposal):
        def __init__(self, kind, attributes, is_final=True):
            super().__init__([], [])
            self.engine = attributes.get(401, (None, None))[1]

        def objects(self, attribute, kind, most):
            return proposals

    monkeypatch.setattr(cudnn, "_Object", Object)
    monkeypatch.setattr(cudnn, "_graph_of", lambda fused, handle: (None, []))
    if taken is None:
        with pytest.raises(cudnn.Refused, match="none ready"):
            cudnn.Kernel(FUSED._replace(is_repeatable=is_repeatable), HANDLE)
    else:
        assert cudnn.Kernel(FUSED._replace(is_repeatable=is_repeatable), HANDLE)._plan.engine is proposals[taken]


def test_steps_are_those_of_eager():
    image, weight, residual = (torch.randn(shape) for shape in ((2, 8, 6, 5), (4, 8, 3, 3), (2, 4, 4, 3)))
    shift = torch.randn(4)
    given = [image, weight, shift, residual, [1, 1], [0, 0], [1, 1]]
    assert writer_of(operator.FUSED, given, {}, [(None, residual)]) is None  # On the CPU.
    exact = (torch.conv2d(image.double(), weight.double()) + shift.view(-1, 1, 1) + residual).relu()
    torch.testing.assert_close(operator.FUSED(*given).double(), exact, rtol=1e-5, atol=1e-4)


class OnGpu(torch.Tensor):
    """A tensor of the CPU that says that it is on a GPU."""

    device = torch.device("cuda", 0)
    __torch_function__ = torch._C._disabled_torch_function_impl


def nothing():
    """A kernel."""


def written(monkeypatch, on, **changed):
    """(how often `on` was asked for a kernel, the result)"""
    shapes = {"image": (2, 8, 6, 5), "weight": (8, 8, 3, 3), "residual": (2, 8, 4, 3), "result": (2, 8, 4, 3)}
    given = {name: torch.randn(shape).to(BF16).to(memory_format=torch.channels_last) for name, shape in shapes.items()}
    given |= {"shift": torch.zeros(8, dtype=BF16)} | changed
    image, weight, residual, result, shift = (tensor.as_subclass(OnGpu) for tensor in given.values())
    asked = []

    def asking(fused, tensors):
        asked.append(fused)
        return on(fused, tensors)

    monkeypatch.setattr(cudnn, "on", asking)
    run = operator.written_to(result, image, weight, shift, residual, [1, 1], [0, 0], [1, 1])
    if run is not None:
        run()
        run()
    return asked, run, given


def test_what_fails_as_it_runs_is_computed_in_steps(monkeypatch):
    def fail():
        raise cudnn.Refused("a run gave 5003")

    asked, run, given = written(monkeypatch, lambda fused, tensors: fail)
    assert len(asked) == 1 and run is not None
    exact = (torch.conv2d(given["image"].double(), given["weight"].double()) + given["residual"]).relu()
    torch.testing.assert_close(given["result"].double(), exact, rtol=2**-7, atol=2**-7 * exact.abs().max().item())


def test_a_handle_is_told_of_another_stream_alone(monkeypatch):
    told = []
    library = types.SimpleNamespace(cudnnCreate=lambda at: 0, cudnnSetStream=lambda handle, stream: told.append(stream))
    monkeypatch.setattr(cudnn, "_library", lambda: library)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    handle = cudnn._Handle(FUSED.device)
    for stream in (0, 0, 7, 7, 0):
        handle.follow(stream)
    assert told == [0, 7, 0]


@pytest.mark.parametrize("is_steady", [False, True])
def test_what_a_kernel_gives_is_recorded_behind_its_second_run(monkeypatch, is_steady):
    """By whoever wants to; not while somebody records a graph, nor where it is given memory in each run."""
    given, state = [], types.SimpleNamespace(is_capturing=False)
    monkeypatch.setattr(cudnn.devices, "stream_of", lambda device: 3)
    monkeypatch.setattr(cudnn.devices, "is_capturing", lambda: state.is_capturing)
    run = cudnn._Runs(None, given.append, is_steady)
    run()
    assert given == [3] and run.to_record() is None
    run()
    state.is_capturing = True
    assert run.to_record() is None
    state.is_capturing = False
    give = run.to_record()
    assert (give is not None) == is_steady
    if is_steady:
        give(7)
        assert given == [3, 3, 7] and run.to_record() == give


@pytest.mark.parametrize("is_asked", [False, True])
def test_kernels_repeat_where_that_is_asked_for(monkeypatch, is_asked):
    monkeypatch.setattr(operator, "is_repeatable", lambda: is_asked)
    asked, _, _ = written(monkeypatch, lambda fused, tensors: nothing)
    assert [fused.is_repeatable for fused in asked] == [is_asked]


@pytest.mark.parametrize("changed", [
    {"image": torch.randn(2, 8, 6, 5).to(BF16)}, {"shift": torch.zeros(8)}, {"weight": torch.randn(8, 8, 3, 3).to(BF16)},
    {"image": torch.randn(2, 8, 6, 5).to(memory_format=torch.channels_last)},
    {"result": torch.zeros(200, dtype=BF16)[1:193].view(2, 4, 3, 8).permute(0, 3, 1, 2)}])
def test_no_kernel_is_asked_for_what_lies_otherwise(monkeypatch, changed):
    asked, run, _ = written(monkeypatch, lambda fused, tensors: nothing, **changed)
    assert not asked and run is None
