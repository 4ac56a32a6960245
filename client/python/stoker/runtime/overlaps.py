"""Calls in which inputs lie in each other's memory, and one of them changes in place. Nothing that PyTorch guards tells them apart:
they are left to it, to run as they are written."""

import torch

from ..base import tally
from ..base.log import warn_once
from ..graph.layout import bytes_of
from ..pytorch.native.addresses import Addresses
from .laid_out import taker


def where_apart(compiled, in_eager, held, inputs, changed):
    """`compiled`, and `in_eager`, which does the same as PyTorch, for calls in which something shares memory with what changes. `held`:
    tensors that come before the inputs of every call; `inputs`: those that were traced; `changed`: positions among both of the
    ones that change. What a module holds is looked at, too: another input may have come to lie in it. Where they shared memory
    when they were traced, all calls run in eager: the graph is of the one tensor that AOTAutograd takes them for, whose views it
    does not always find again."""
    def all_of(inputs):
        return [*held, *inputs]

    traced = all_of(inputs)
    places = [place for place, value in enumerate(traced) if isinstance(value, torch.Tensor)]
    tensors_of, numbers_of = taker(places), taker([place for place in range(len(traced)) if place not in set(places)])
    varies = len(places) < len(traced)  # Sizes come as numbers.
    shared = not any(map(_has_no_memory, traced)) and _is_shared(*_extents(tensors_of(traced)), places, changed)
    traced = inputs = None  # They are not kept.
    last = None  # Of the last call in which they lay apart: where, and how long its tensors are.
    passed = None  # The same of one that lay as the one before did, which is asked faster.

    def run(*inputs):
        nonlocal last, passed
        values, known = all_of(inputs), passed
        if known is not None and known[0].are_of(values) and known[1] == numbers_of(values):
            return compiled(*inputs)
        found = _extents(tensors_of(values), last[1] if last and not varies else None)
        if found == last:
            passed = Addresses(values, places), numbers_of(values)  # Which say all sizes that vary.
        elif not _is_shared(*found, places, changed):
            last = found
        else:
            return as_written(*inputs)
        return compiled(*inputs)

    def as_written(*inputs):
        tally.count("calls_overlapping")
        warn_once(
            "overlap", "a call runs in eager PyTorch: an input that changes in place shares memory with others, now or when the graph "
            "was traced.")
        return in_eager(*inputs)

    return as_written if shared else run


def _has_no_memory(value):
    """Is it a fake tensor?"""
    return isinstance(value, torch.Tensor) and value.untyped_storage().device.type == "meta"


def _extents(tensors, lengths=None):
    """(addresses, bytes from the first element to behind the last one). `lengths`: these, where they are known."""
    if lengths is None:
        lengths = [bytes_of(tensor) if tensor.numel() else 0 for tensor in tensors]
    return [tensor.data_ptr() for tensor in tensors], lengths


def _is_shared(addresses, lengths, places, changed):
    """Does one of those that change share memory with another one?"""
    end = end_of_changed = 0  # The furthest that one has come so far.
    for begin, length, place in sorted(zip(addresses, lengths, places)):
        if not length:
            continue
        is_changed = place in changed
        if begin < (end if is_changed else end_of_changed):
            return True
        end = max(end, begin + length)
        if is_changed:
            end_of_changed = max(end_of_changed, begin + length)
    return False
