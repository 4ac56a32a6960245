"""Calls in which inputs lie in each other's memory otherwise than when their graph was traced, and one of them changes in
place. Nothing that PyTorch guards tells them apart: they are left to it, to run as they are written."""

import torch

from . import tally
from .log import warn_once


def left_to(in_eager, compiled, changed, watched):
    """`compiled`, but for such calls. `in_eager`: does the same as PyTorch; `changed`: positions of the inputs that
    change; `watched`: of those that may lie in their memory. The first call is the one that was traced."""
    expected = None

    def run(*inputs):
        nonlocal expected
        found = _relation(inputs, changed, watched)
        if expected is None:
            expected = found
        if found == expected:
            return compiled(*inputs)
        tally.count("calls_overlapping")
        warn_once(
            "overlap", "a call runs in eager PyTorch: an input that changes in place shares memory with others, and did so "
            "otherwise when the graph was traced.")
        return in_eager(*inputs)

    return run


def _relation(inputs, changed, watched):
    """{(place of one that changes, place of one that shares memory with it, bytes from the one to the other)}."""
    extents = [(place, *_extent(inputs[place])) for place in watched if isinstance(inputs[place], torch.Tensor)]
    mine = [extent for extent in extents if extent[0] in changed]
    first, last = min((begin for _, begin, _ in mine), default=0), max((end for *_, end in mine), default=0)
    return {
        (place, other, other_begin - begin)
        for other, other_begin, other_end in extents if other_begin < last and first < other_end
        for place, begin, end in mine if place != other and begin < other_end and other_begin < end}


def _extent(tensor):
    """Addresses from the first element to behind the last one."""
    if not tensor.numel():
        return 0, 0
    begin = tensor.data_ptr()
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (steps + 1) * tensor.element_size()
