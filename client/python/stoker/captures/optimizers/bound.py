"""Later checks of optimizers whose words held: what stays is the same objects, all else as it was. Nothing here keeps an optimizer or
a tensor alive."""

import math
import operator
import weakref

from ...pytorch.optimizers.states import hooks_of
from ...pytorch.tensors import metadata_check
from ..words.values import NotPortable, encode, same_words
from .leaves import STAYING, leaves_of, places_of
from .memory import Memory


class Bound:
    """`optimizers`: those that were described; `described`: a described.Described of them."""

    def __init__(self, optimizers, described):
        self._optimizers = [weakref.ref(optimizer) for optimizer in optimizers]
        self._arrangements = [(each.counts, each.names) for each in described.leaves]
        self._parts = [
            _Part(leaves, words) for leaves, words in zip(described.leaves, described.words["leaves"])]
        self._pick, self._twice = _firsts_of(described.words["leaves"], described.words["others"])
        self._tensors_hold = metadata_check(described.tensors) if described.tensors else bool
        self._memory = Memory(described.tensors, described.staying)

    def hold(self, optimizers, others):
        """Are these the optimizers, and do they and `others` hold what they held? NotPortable or anything that reading them
        raises means no."""
        if any(known() is not optimizer for known, optimizer in zip(self._optimizers, optimizers)):
            return False
        values = []
        for optimizer, arrangement, part in zip(optimizers, self._arrangements, self._parts):
            leaves = leaves_of(optimizer)
            if hooks_of(optimizer) or (leaves.counts, leaves.names) != arrangement or not part.holds(leaves.values):
                return False
            values += leaves.values
        values += others
        if any(values[place] is not values[first] for place, first in self._twice):
            return False
        tensors = self._pick(values)
        return bool(not tensors or self._tensors_hold(*tensors)) and self._memory.is_apart(tensors)


class _Part:
    """The leaves of one optimizer."""

    def __init__(self, leaves, words):
        """`words`: of each leaf."""
        values = leaves.values
        staying = [place for place in places_of(leaves, STAYING) if type(words[place]) is int]
        constant = [place for place, each in enumerate(words) if type(each) is dict and "value" in each]
        self._pick_staying, self._pick_constant = _picker(staying), _picker(constant)
        self._staying = [weakref.ref(values[place]) for place in staying]
        self._constant = self._pick_constant(values)
        self._words = [words[place]["value"] for place in constant]
        self._numbers = [place for place, each in enumerate(words) if type(each) is dict and "number" in each]

    def holds(self, values):
        """Of as many leaves."""
        if not all(map(operator.is_, self._pick_staying(values), [known() for known in self._staying])):
            return False
        constants = self._pick_constant(values)
        if not all(map(operator.is_, constants, self._constant)) and not self._equal(constants):
            return False
        return all([type(values[place]) is float and math.isfinite(values[place]) for place in self._numbers])

    def _equal(self, constants):
        for place, value in enumerate(constants):
            known = self._constant[place]
            if value is not known:
                if type(value) is not type(known) or not same_words(encode(value), self._words[place]):
                    return False
                self._constant[place] = value
        return True


def _picker(places):
    """f(values) -> a list of those at these places, in order."""
    if len(places) > 1:
        pick = operator.itemgetter(*places)
        return lambda values: list(pick(values))
    return lambda values: [values[place] for place in places]


def _firsts_of(leaves, others):
    """f(all values) -> the tensors, each once; [(place of one that is met again, its first place)]."""
    first, twice, place = {}, [], 0
    for words in [*(each for of_one in leaves for each in of_one), *others]:
        if type(words) is int and first.setdefault(words, place) != place:
            twice.append((place, first[words]))
        place += 1
    return _picker([first[number] for number in range(len(first))]), twice


__all__ = ["Bound", "NotPortable"]
