"""The callable of a graph that holds tensors."""

import weakref


class HoldingGraph:
    """`run`: the graph with all its inputs, of which `tensors` are the first ones. It keeps none alive: guards ask whether they are
    there."""

    def __init__(self, run, tensors):
        self._run = run
        self._tensors = [weakref.ref(tensor) for tensor in tensors]

    def __call__(self, *inputs):
        held = [tensor() for tensor in self._tensors]
        if any(tensor is None for tensor in held):
            raise ReferenceError("A tensor that a graph holds has died.")
        return self._run(*held, *inputs)
