"""How many recordings of one program there may be: each of the values that its symbols have had may have one."""

import itertools
import weakref

# As many as PyTorch records before it says that they are many. Each holds what its calls give.
MAX_SIZES = 64
# What was not called in so many calls of the program gives way to another one: to record costs what many calls do.
PATIENCE = 16 * MAX_SIZES


class Room:

    def __init__(self):
        self._numbers = itertools.count(1)
        self._recorded = weakref.WeakSet()

    def number_of_call(self):
        """Of the program, whatever its sizes are."""
        return next(self._numbers)

    def take(self, replayed):
        """Is there room for the recording of one that has none?"""
        living = self._living()
        if len(living) >= MAX_SIZES:
            oldest = min(living, key=lambda each: each.last_call)
            if replayed.last_call - oldest.last_call < PATIENCE or not oldest.give_way():
                return False
        self._recorded.add(replayed)
        return True

    def clear(self):
        """All that is not running gives way. Was there any?"""
        return any([each.give_way() for each in self._living()])

    def _living(self):
        return [each for each in list(self._recorded) if each.is_recorded()]
