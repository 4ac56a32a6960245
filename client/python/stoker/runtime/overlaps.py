"""Calls in which inputs lie in each other's memory otherwise than when their graph was traced, and one of them changes in
place. Nothing that PyTorch guards tells them apart: they are left to it, to run as they are written."""

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.layout import bytes_of


def as_traced(compiled, in_eager, inputs, changed, watched):
    """`compiled`, and `in_eager`, which does the same as PyTorch, for such calls. `inputs`: those that were traced;
    `changed`: positions of the ones that change; `watched`: of those that may lie in their memory."""
    expected = set() if any(map(_has_no_memory, inputs)) else _relation(inputs, changed, watched)

    def run(*inputs):
        if _relation(inputs, changed, watched) == expected:
            return compiled(*inputs)
        tally.count("calls_overlapping")
        warn_once(
            "overlap", "a call runs in eager PyTorch: an input that changes in place shares memory with others, and did so "
            "otherwise when the graph was traced.")
        return in_eager(*inputs)

    return run


def _has_no_memory(value):
    """Is it a fake tensor?"""
    return isinstance(value, torch.Tensor) and value.untyped_storage().device.type == "meta"


def _relation(inputs, changed, watched):
    """{(place of one that changes, place of one that shares memory with it, bytes from the one to the other)}."""
    extents = [
        (place, *_extent(inputs[place])) for place in watched
        if isinstance(inputs[place], torch.Tensor) and inputs[place].numel()]
    mine = [extent for extent in extents if extent[0] in changed]
    first, last = min((begin for _, begin, _ in mine), default=0), max((end for *_, end in mine), default=0)
    return {
        (place, other, other_begin - begin)
        for other, other_begin, other_end in extents if other_begin < last and first < other_end
        for place, begin, end in mine if place != other and begin < other_end and other_begin < end}


def _extent(tensor):
    """Addresses from the first element to behind the last one."""
    begin = tensor.data_ptr()
    return begin, begin + bytes_of(tensor)
