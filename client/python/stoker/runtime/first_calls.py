"""Graphs of which PyTorch may refuse a call, and not for their tensors' types and sizes alone: only a call can say."""

from ..pytorch.frames import without_dynamo
from .programs import forward_of


def in_eager(gm, compiled):
    """`compiled`, from the first call on that PyTorch has taken. Calls before run in eager, and raise what it raises."""
    current = None

    def run(*arguments):
        nonlocal current
        if current is not None:
            return current(*arguments)
        results = forward_of(gm)(*arguments)
        current = compiled
        return results

    return without_dynamo(run, "Stoker's compiled graph, or PyTorch until it takes a call")
