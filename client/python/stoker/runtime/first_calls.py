"""Graphs of which PyTorch may refuse a call, and not for their tensors' types and sizes alone: only a call can say."""

from ..pytorch.frames import without_dynamo
from .programs import forward_of


class FirstCall:
    """`function` is what was compiled, from the first call on that PyTorch has taken. Calls before run in eager, and raise
    what it raises."""

    def __init__(self, gm, compiled):
        self.is_taken = False
        self._then = []

        def run(*arguments):
            if self.is_taken:
                return compiled(*arguments)
            results = forward_of(gm)(*arguments)
            self._take()
            return results

        self.function = without_dynamo(run, "Stoker's compiled graph, or PyTorch until it takes a call")

    def then(self, action):
        """Calls action() when PyTorch has taken a call."""
        if self.is_taken:
            action()
        else:
            self._then.append(action)

    def _take(self):
        self.is_taken = True
        while self._then:
            self._then.pop()()
