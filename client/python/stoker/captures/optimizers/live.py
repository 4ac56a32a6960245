"""A capture's optimizers in a live program."""

from typing import Any, NamedTuple

from ...base.signals import let_through
from ...pytorch.optimizers.states import FirstStates, is_optimizer, is_pytorchs, makes_states, mark
from ..words.paths import Scope, Values, text
from ..words.values import NotPortable, same_words
from .bound import Bound
from .described import Described, first_difference_beside_states


class Live(NamedTuple):
    """Optimizers whose words hold."""

    optimizers: list  # Those that are described, and those of which no more is known than which they are.
    described: Any
    bound: Any

    def staying(self):
        """Tensors that are the same objects in later calls."""
        return [self.described.tensors[number] for number in self.described.staying]


class Optimizers:
    """`words`: of words_of(), as a capture has them; `nodes`: of the capture."""

    def __init__(self, words, nodes):
        self._words, self._nodes = words, nodes
        self._places, self._others, self._only_same = words["places"], words["others"], words["only_same"]
        self._numbers = [
            frozenset(place for place, each in enumerate(leaves) if type(each) is dict and "number" in each)
            for leaves in words["words"]["leaves"]]

    def look(self, values, describe, makes_first_states):
        """(Live, None), or (None, (what, expected, found)). `values`: of nodes. `makes_first_states`: does it stand for a
        trace, which would make the states that are missing?"""
        optimizers = [values[place] for place in self._places]
        for place in (*self._places, *self._only_same):
            if not is_optimizer(values[place]) or not is_pytorchs(values[place]):
                return None, (text(self._nodes, place), "an optimizer of PyTorch's", repr(type(values[place])))
        others = [values[place] for place in self._others]
        if not makes_first_states:
            return self._compared(optimizers, others, values, describe)
        if not all([makes_states(optimizer) for optimizer in optimizers]):
            return None, ("an optimizer", "one that makes states", "another one")
        different = first_difference_beside_states(optimizers, self._words["words"], self._words["keeps_capturable"])
        if different is not None:
            return None, different
        states = FirstStates(optimizers, self._words["keeps_capturable"])
        live = None
        try:
            states.make()
            live, different = self._compared(optimizers, others, values, describe)
        except Exception as error:  # A cold start says what is wrong.
            let_through(error)
            different = "making first states", "done", repr(error)
        finally:
            if live is None:
                states.undo()
        return live, different

    def _compared(self, optimizers, others, values, describe):
        try:
            described = Described(optimizers, others, self._numbers, describe)
        except NotPortable as error:
            return None, ("what optimizers hold", "what it was", str(error))
        expected = self._words["words"]
        for name, found in described.words.items():
            if not same_words(found, expected[name]):
                return None, (f"{name} of optimizers", *_first_of(expected[name], found))
        same = [values[place] for place in self._only_same]
        return Live([*optimizers, *same], described, Bound([*optimizers, *same], described)), None

    def take_over(self, live):
        """What a trace leaves on tensors."""
        for number, words in self._words["marks"]:
            mark(live.described.tensors[number], words)

    def check(self, live, global_values):
        """f(locals) -> bool for later calls."""
        nodes, bound = self._nodes, live.bound
        places, others = (*self._places, *self._only_same), self._others

        def hold(local_values):
            try:
                values = Values(nodes, Scope(local_values, global_values))
                return bound.hold([values[place] for place in places], [values[place] for place in others])
            except Exception as error:  # Of what has become of them.
                let_through(error)
                return False

        return hold


def _first_of(expected, found):
    """The first elements that differ of two lists."""
    if isinstance(expected, list) and isinstance(found, list):
        for each, other in zip(expected, found):
            if not same_words(each, other):
                return _first_of(each, other)
        return f"{len(expected)} of them", f"{len(found)} of them"
    return str(expected), str(found)


def words_of(optimizers, only_same, others, numbers, keeps_capturable, describe):
    """(JSON, the Described), of {place of a node: optimizer}s. `only_same`: places of optimizers of which no more was read than guards
    say; `others`: {place: tensor} of all tensors that the frame reaches otherwise; `numbers`: of Described."""
    described = Described(list(optimizers.values()), list(others.values()), numbers, describe)
    return {
        "places": list(optimizers), "only_same": sorted(only_same), "others": list(others), "words": described.words,
        "marks": described.marks(), "keeps_capturable": keeps_capturable}, described
