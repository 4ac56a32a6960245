"""Calls in which inputs lie in each other's memory otherwise than when their graph was traced, and one of them changes in
place. Nothing that PyTorch guards tells them apart: they are left to it, to run as they are written."""

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.layout import bytes_of
from ..pytorch.native.addresses import Addresses
from ..pytorch.tensors import share_storage
from .laid_out import taker


def as_traced(compiled, in_eager, inputs, changed):
    """`compiled`, and `in_eager`, which does the same as PyTorch, for such calls. `inputs`: those that were traced; `changed`:
    positions of the ones that change. What a module holds is looked at, too: another input may have come to lie in it."""
    places = [place for place, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
    tensors_of, numbers_of = taker(places), taker([place for place in range(len(inputs)) if place not in set(places)])
    varies = len(places) < len(inputs)  # Sizes come as numbers.
    expected = set()
    if not any(map(_has_no_memory, inputs)):
        # Of two storages over one memory AOTAutograd knows nothing: a graph of such inputs is right for others alone.
        expected = {
            (place, other, distance) for place, other, distance in _relation(*_extents(tensors_of(inputs)), places, changed)
            if share_storage(inputs[place], inputs[other])}
    last = None  # Of the last call that lay as expected: where, and how long its tensors are.
    passed = None  # The same of one that lay as the one before did, which is asked faster.

    def run(*inputs):
        nonlocal last, passed
        known = passed
        if known is not None and known[0].are_of(list(inputs)) and known[1] == numbers_of(inputs):
            return compiled(*inputs)
        found = _extents(tensors_of(inputs), last[1] if last and not varies else None)
        if found == last:
            passed = Addresses(list(inputs), places), numbers_of(inputs)  # Which say all sizes that vary.
        elif _relation(*found, places, changed) == expected:
            last = found
        else:
            return as_written(inputs)
        return compiled(*inputs)

    def as_written(inputs):
        tally.count("calls_overlapping")
        warn_once(
            "overlap", "a call runs in eager PyTorch: an input that changes in place shares memory with others, and did so "
            "otherwise when the graph was traced.")
        return in_eager(*inputs)

    return run


def _has_no_memory(value):
    """Is it a fake tensor?"""
    return isinstance(value, torch.Tensor) and value.untyped_storage().device.type == "meta"


def _extents(tensors, lengths=None):
    """(addresses, bytes from the first element to behind the last one). `lengths`: these, where they are known."""
    if lengths is None:
        lengths = [bytes_of(tensor) if tensor.numel() else 0 for tensor in tensors]
    return [tensor.data_ptr() for tensor in tensors], lengths


def _relation(addresses, lengths, places, changed):
    """{(place of one that changes, place of one that shares memory with it, bytes from the one to the other)}."""
    found, before = set(), []
    for begin, length, place in sorted(zip(addresses, lengths, places)):
        if not length:
            continue
        before = [each for each in before if each[1] > begin]
        for other_begin, _, other in before:
            if place in changed:
                found.add((place, other, other_begin - begin))
            if other in changed:
                found.add((other, place, begin - other_begin))
        before.append((begin, begin + length, place))
    return found
