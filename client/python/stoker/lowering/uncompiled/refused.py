"""A graph's text that libstoker does not take: it says more than its operators may. The ATen operator for which that was
said is a call of PyTorch then."""

import contextlib
import re

from ...libstoker.library import StokerError

# Each is found by lowering the graph once more.
MAX_REFUSED = 16

_LINE = re.compile(r"Line (\d+): ")


class Refused(StokerError):
    """`maker`: the name of the fx node in whose place something was said."""

    def __init__(self, error, maker):
        super().__init__(error.code, str(error).partition(": ")[2])
        self.maker = maker


@contextlib.contextmanager
def told_of(segment):
    """A StokerError about a line of its text that stands for an fx node becomes Refused."""
    try:
        yield
    except StokerError as error:
        line = _LINE.search(str(error))
        place = int(line[1]) - 2 if line else -1  # The first line names the graph's inputs.
        if 0 <= place < len(segment.makers):
            raise Refused(error, segment.makers[place]) from None
        raise


class Lowered:
    """Lowers a graph. `lower`: a Program of {name of an fx node that is not to be mapped: why}."""

    def __init__(self, lower):
        self._lower = lower
        self._refused = {}

    def __call__(self):
        return self._lower(self._refused)

    def without(self, refused):
        """Is it lowered otherwise from now on? Not if that was tried, or too much was."""
        helps = refused.maker not in self._refused and len(self._refused) < MAX_REFUSED
        self._refused[refused.maker] = str(refused).rstrip(".")
        return helps
