"""Which of Dynamo's guards captures/optimizers stands for: all on what the optimizers hold in groups and states, of which it
describes more than these say."""

import weakref

import torch

from ...pytorch.noted.optimizers import keeps_capturable
from ...pytorch.optimizers.states import is_optimizer, is_pytorchs
from ..optimizers.leaves import PARAMS, place_of_option
from ..optimizers.live import words_of
from ..words.paths import Unreachable
from ..words.values import NotPortable

DEATH = "WEAKREF_ALIVE"  # A kind of guard: Dynamo's code is of no use once an optimizer has died.
_ROOTS = ("param_groups", "state")
_ITEMS = ("item", "dict", "list", "key", "type")  # Steps from a container to what lies in it.
_ATTRIBUTES = ("attr", "generic")
# Kinds of guards that the words of a value imply.
_IMPLIED = frozenset((
    "TYPE_MATCH", "ID_MATCH", "CLASS_MATCH", "BUILTIN_MATCH", "CONSTANT_MATCH", "EQUALS_MATCH", "BOOL_MATCH", "NONE_MATCH",
    "NOT_NONE_MATCH", "SEQUENCE_LENGTH", "DICT_KEYS_MATCH", "MAPPING_KEYS_CHECK", "DICT_VERSION", "DICT_CONTAINS",
    "DICT_NOT_CONTAINS", "TENSOR_MATCH", "order of keys", "no guard"))
_OF_KIND_ALONE = frozenset(("TYPE_MATCH", "no guard"))


class TracedOptimizers:
    """`traced`: [(optimizer, source)] of pytorch.frames.Trace."""

    def __init__(self, traced):
        self.traced = traced
        self._ids = {id(optimizer): number for number, (optimizer, _) in enumerate(traced)}
        self.only_same = set()  # Places of others, of which Dynamo guards which object they are.
        self._numbers = [set() for _ in traced]

    def is_of_death(self, guard, global_values):
        """Is it a guard that one of them lives? Another one of its kind has no portable form."""
        if guard.kind != DEATH:
            return False
        found = global_values.get(getattr(guard.source, "global_name", None))
        return isinstance(found, weakref.ref) and id(found()) in self._ids

    def note_same(self, place, value):
        """Of one that a guard says to be this very object."""
        if not is_pytorchs(value):
            raise NotPortable(f"an optimizer that is not as PyTorch has it, {type(value).__name__}")
        if id(value) not in self._ids:
            self.only_same.add(place)

    def left_over(self, pending, nodes, values, place_of):
        """Of `pending`, [(guard, place)], those that the words do not imply; sources of tensors that are reached otherwise, too.
        `place_of`: f(source) -> its place."""
        inside = self._inside(nodes, values)
        kinds, left, others = {}, [], []
        for guard, place in pending:
            if place not in inside:
                is_twice = guard.kind == "DUPLICATE_INPUT" and place_of(guard.arguments.get("source_b")) in inside
                (others if is_twice else left).append(guard.source if is_twice else guard)
            elif guard.kind == "DUPLICATE_INPUT":
                other = place_of(guard.arguments.get("source_b"))
                if other not in inside:
                    others.append(guard.arguments["source_b"])
                elif not isinstance(values[place], torch.Tensor):
                    raise NotPortable("what an optimizer holds twice")
            elif guard.kind in _IMPLIED:
                kinds.setdefault(place, set()).add(guard.kind)
            else:
                left.append(guard)
        if not all(isinstance(values[place_of(source)], torch.Tensor) for source in others):
            raise NotPortable("what an optimizer holds, reached otherwise")
        self._find_numbers(nodes, values, kinds)
        return left, others

    def _inside(self, nodes, values):
        """Places of what optimizers hold in groups and states: nodes of which the words say all."""
        parameters = {
            id(each) for optimizer, _ in self.traced for group in optimizer.param_groups for each in group[PARAMS]}
        states = {id(optimizer.state) for optimizer, _ in self.traced}
        found = set()
        for place, (parent, step, argument) in enumerate(nodes):
            if parent < 0 or type(values[place]) is Unreachable:
                continue
            if parent in found:
                is_inside = step in _ITEMS or step in _ATTRIBUTES and (
                    argument == "grad" and id(values[parent]) in parameters
                    or argument == "default_factory" and id(values[parent]) in states)
            else:
                is_inside = step in _ATTRIBUTES and argument in _ROOTS and id(values[parent]) in self._ids
            if is_inside:
                found.add(place)
        return found

    def _find_numbers(self, nodes, values, kinds):
        """Options of which Dynamo guards that they are floats: they are inputs of graphs."""
        groups = {
            id(group): (number, position, optimizer) for number, (optimizer, _) in enumerate(self.traced)
            for position, group in enumerate(optimizer.param_groups)}
        for place, found in kinds.items():
            parent, _, name = nodes[place]
            if type(values[place]) is float and found <= _OF_KIND_ALONE and type(name) is str and (
                    where := groups.get(id(values[parent]))) is not None:
                number, position, optimizer = where
                self._numbers[number].add(place_of_option(optimizer, position, name))

    def words(self, nodes, values, describe, place_of):
        """(JSON, the Described), or (None, None) where there is no optimizer."""
        optimizers = {place_of(source): optimizer for optimizer, source in self.traced}
        if not (optimizers or self.only_same):
            return None, None
        if len(optimizers) != len(self.traced):
            raise NotPortable("an optimizer that became another one")
        for place, optimizer in optimizers.items():
            if values[place] is not optimizer:
                raise NotPortable("an optimizer that is not reachable when the frame starts")
        others = {place: value for place, value in enumerate(values) if isinstance(value, torch.Tensor)} if optimizers else {}
        return words_of(
            optimizers, self.only_same, others, [frozenset(each) for each in self._numbers], keeps_capturable(), describe)


__all__ = ["TracedOptimizers", "is_optimizer"]
