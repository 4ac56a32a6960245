"""What kernels are given of a call's tensors: beside what PyTorch says of each, by the extension and without it."""

import concurrent.futures
import ctypes
import random
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from stoker.graph.layout import layout_of
from stoker.graph.program import Segment, SegmentInput, SegmentOutput
from stoker.libstoker.extension import extension
from stoker.pytorch.native import pointers
from stoker.pytorch.native.pointers import Pointers
from stoker.pytorch.native.tensor_layout import learn_tensors
from stoker.runtime.laid_out import Inputs


@pytest.fixture(params=["extension", "PyTorch"])
def way(request, monkeypatch):
    if request.param == "PyTorch":
        monkeypatch.setattr(pointers, "extension", lambda: None)
    elif extension() is None:
        pytest.skip("stoker_guards is not built")
    return request.param


def array(count):
    return (ctypes.c_void_p * count)()


def taken(inputs, tensors, count=None):
    """(tensors, addresses)"""
    into = array(count or len(tensors))
    given = inputs.take(list(tensors), into)
    return given, [address or 0 for address in into]


def inputs_like(tensors, written=()):
    return Inputs(Segment(
        "", [SegmentInput(place, layout_of(tensor), False) for place, tensor in enumerate(tensors)],
        [SegmentOutput(len(tensors) + place, tensors[place].dtype, layout_of(tensors[place]), place) for place in sorted(written)]))


def made(generator):
    kind = generator.randrange(8)
    if kind == 0:
        return torch.nn.Parameter(torch.randn(3, 5))
    if kind == 1:
        return torch.zeros(40, dtype=torch.float16)[8:]
    if kind == 2:
        return torch.tensor(generator.randrange(9))
    if kind == 3:
        return torch.zeros(2, 1, 2, 1, 2, 1, 2)
    if kind == 4:
        return torch.zeros(0, 7)
    if kind == 5:
        return torch.frombuffer(bytearray(64), dtype=torch.float32)
    if kind == 6:
        return torch.randn(4, dtype=torch.complex64)
    return torch.randn(7, 6).t()


def lies_otherwise(tensor):
    return torch.zeros((*tensor.shape, 2), dtype=tensor.dtype)[..., 0].copy_(tensor.detach())


def is_negated(tensor):
    return torch._neg_view(tensor.detach())


def in_no_own_memory(tensor):
    try:
        return torch._lazy_clone(tensor.detach())
    except RuntimeError:  # Of memory that is not PyTorch's.
        return tensor.detach().clone()


def without_gradient(tensor):
    return tensor.detach()


def of_inference(tensor):
    with torch.inference_mode():
        return tensor.clone()


def elsewhere(tensor):
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor.detach())


CHANGES = [lies_otherwise, is_negated, in_no_own_memory, without_gradient, of_inference, elsewhere]


@pytest.mark.parametrize("seed", range(6))
def test_addresses_are_those_of_what_a_kernel_reads(way, seed):
    generator = random.Random(seed)
    tensors = [made(generator) for _ in range(generator.choice([1, 31, 33, 100]))]
    written = {place for place in range(len(tensors)) if generator.random() < 0.3}
    layouts, inputs = [layout_of(tensor) for tensor in tensors], inputs_like(tensors, written)
    for _ in range(60):
        place = generator.randrange(len(tensors))
        change = generator.choice(CHANGES)
        if change is not is_negated or tensors[place].is_floating_point():
            tensors[place] = change(tensors[place])
        values = [tensor.resolve_neg().detach().clone() for tensor in tensors]
        given, addresses = taken(inputs, tensors)
        refused = any(tensors[each].is_inference() for each in written)
        for number, (tensor, value, layout, address) in enumerate(zip(given, values, layouts, addresses)):
            assert (tensor.stride() == layout.strides or not tensor.numel()) and not tensor.is_neg()
            assert torch.equal(tensor.detach(), value)
            assert not tensor.numel() or address == tensor.data_ptr()
            if number not in written:
                continue
            if refused:
                assert all(tensor.data_ptr() != other.data_ptr() or not tensor.numel() for other in tensors)
            # Its memory is its own: what is written there is seen nowhere else.
            assert not tensor.numel() or not torch._C._is_cow_tensor(tensor)


def test_what_is_written_is_seen_by_no_lazy_copy(way):
    x = torch.arange(8.0)
    inputs = inputs_like([x], {0})
    taken(inputs, [x])
    copy = torch._lazy_clone(x)
    for tensor in (x, copy):
        _, (address,) = taken(inputs, [tensor])
        ctypes.memset(address, 0, 32)
        assert not tensor.any()
        assert torch.equal(copy, torch.arange(8.0)) or tensor is copy


@pytest.mark.parametrize("at", [slice(None), slice(4, None)])
def test_memory_that_is_gone_is_said(way, at):
    x = torch.zeros(16)
    view = x[at]
    inputs = inputs_like([view])
    taken(inputs, [view])
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        taken(inputs, [view])
    x.untyped_storage().resize_(64)
    assert taken(inputs, [view])[1] == [view.data_ptr()]
    x.untyped_storage().resize_(60)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 60"):
        taken(inputs, [view])


def test_tensors_without_memory_are_said(way):
    x = torch.zeros(4)
    inputs = inputs_like([x])
    taken(inputs, [x])
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        with pytest.raises(RuntimeError):
            taken(inputs, [fake])


def test_what_is_no_tensor_is_not_taken_for_one(way):
    inputs = inputs_like([torch.zeros(4)])
    for other in (None, 3, torch.zeros):
        with pytest.raises(AttributeError):
            taken(inputs, [other])


def test_those_seen_before_need_no_look():
    if extension() is None or not learn_tensors():
        pytest.skip("stoker_guards is not built, or does not know this PyTorch")
    tensors = [torch.zeros(5), torch.nn.Parameter(torch.zeros(2, 3)), torch.zeros(0), torch.zeros(3, 4).t()]
    known = Pointers([(place, tensor.numel(), place < 2) for place, tensor in enumerate(tensors)])
    into = array(4)
    assert known.put(tensors, into) == (0, 1, 2, 3)
    for number, tensor in enumerate(tensors):
        known.know(number, tensor)

    def unknown(make, learns=False):
        """The fewest: PyTorch leaves some bits of a new tensor as its memory had them. `learns`: these are looked at."""
        found = []
        for _ in range(200):
            made = make()
            found.append(known.put(made, into))
            for number in found[-1] if learns else ():
                known.know(number, made[number])
        return min(found, key=len)

    def likewise():
        return [each.detach().clone().requires_grad_(each.requires_grad) for each in tensors]

    assert unknown(likewise, learns=True) == ()
    assert unknown(lambda: [*tensors[:3], torch.zeros(4, 3)]) == (3,)
    assert unknown(lambda: [torch.zeros(5, dtype=torch.int32), tensors[1].detach(), *tensors[2:]]) == (0, 1)
    assert unknown(lambda: [torch.frombuffer(bytearray(20), dtype=torch.float32), *tensors[1:]]) == (0,)
    assert unknown(lambda: tensors[:3]) == (3,)
    assert known.put(tensors, into) == () and list(into[:2]) == [tensor.data_ptr() for tensor in tensors[:2]]
    assert unknown(lambda: [torch.zeros(5, requires_grad=True), *tensors[1:]], learns=True) == ()
    assert known.put(tensors, into) == ()


def test_threads_that_come_first_at_once(monkeypatch):
    meet = threading.Barrier(4)

    def learned():
        meet.wait()
        return learn_tensors()

    monkeypatch.setattr(pointers, "learn_tensors", learned)
    tensors = [torch.zeros(3), torch.zeros(4)]
    known = Pointers([(0, 3, False), (1, 4, True)])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        if extension() is None:
            return
        assert list(pool.map(lambda _: known.put(tensors, array(2)), range(4))) == [(0, 1)] * 4
