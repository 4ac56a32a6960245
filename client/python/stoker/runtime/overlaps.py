"""Calls in which inputs lie in each other's memory otherwise than when their graph was traced, and one of them changes in
place. Nothing that PyTorch guards tells them apart: they are left to it, to run as they are written."""

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.layout import bytes_of
from ..pytorch.native.addresses import Addresses


def as_traced(compiled, in_eager, inputs, changed, watched):
    """`compiled`, and `in_eager`, which does the same as PyTorch, for such calls. `inputs`: those that were traced;
    `changed`: positions of the ones that change; `watched`: of those that may lie in their memory."""
    expected = set() if any(map(_has_no_memory, inputs)) else _relation(inputs, changed, watched)
    passed = None

    def run(*inputs):
        nonlocal passed
        if passed is not None and passed.are_of(inputs):
            return compiled(*inputs)
        if _relation(inputs, changed, watched) == expected:
            passed = _Passed(inputs)
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


class _Passed:
    """Inputs that lay as expected: others of the same numbers, which say all sizes that vary, at the same addresses do, too."""

    def __init__(self, inputs):
        inputs = list(inputs)
        self._numbers = _numbers_of(inputs)
        self._addresses = Addresses(inputs, [
            place for place, value in enumerate(inputs) if isinstance(value, torch.Tensor)])

    def are_of(self, inputs):
        return self._addresses.are_of(list(inputs)) and _numbers_of(inputs) == self._numbers


def _numbers_of(inputs):
    return [value for value in inputs if not isinstance(value, torch.Tensor)]


def _relation(inputs, changed, watched):
    """{(place of one that changes, place of one that shares memory with it, bytes from the one to the other)}."""
    extents = sorted(
        (*_extent(inputs[place]), place) for place in watched
        if isinstance(inputs[place], torch.Tensor) and inputs[place].numel())
    found, open_ = set(), []
    for begin, end, place in extents:
        open_ = [extent for extent in open_ if extent[1] > begin]
        for other_begin, _, other in open_:
            if place in changed:
                found.add((place, other, other_begin - begin))
            if other in changed:
                found.add((other, place, begin - other_begin))
        open_.append((begin, end, place))
    return found


def _extent(tensor):
    """Addresses from the first element to behind the last one."""
    begin = tensor.data_ptr()
    return begin, begin + bytes_of(tensor)
