"""Optimizers in words: every leaf is a value, or the number of a tensor. Two leaves have one number where they are one object, in
whichever optimizer they lie, so that what is recorded of aliases serves programs with the same ones alone."""

import math

import torch

from ...pytorch.optimizers.states import hooks_of, is_pytorchs, mark_of
from ...pytorch.tensors import dynamic_dims, has_memory, has_unbacked_sizes
from ..premises.checks import tensor_words
from ..premises.objects import answers_of
from ..words.values import NotPortable, class_path, encode, same_words
from .leaves import KEY, STATE, STAYING, leaves_of, places_of
from .memory import Memory

_TENSORS = (torch.Tensor, torch.nn.Parameter)
# Nothing changes these, so that one that is the same object is the same value.
CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.memory_format)
_NUMBER = {"number": "float"}  # One that is a graph's input.


class Described:
    """Several optimizers, and tensors that the frame reaches otherwise, at one moment."""

    def __init__(self, optimizers, others, numbers, describe):
        """`numbers`: of each optimizer, the places of leaves that are graphs' inputs, as numbers; `describe`: a Describer, by which
        code's questions about tensors are known. NotPortable for what has no words."""
        self.tensors = []  # Each once.
        self.leaves = [leaves_of(optimizer) for optimizer in optimizers]
        self._numbers, self._describe = {}, describe  # id of a tensor -> its number.
        of_leaves = [
            [self._leaf(value, place in those) for place, value in enumerate(each.values)]
            for each, those in zip(self.leaves, numbers)]
        of_others = [self._number(value) for value in others]
        staying = {
            words[place] for words, each in zip(of_leaves, self.leaves) for place in places_of(each, STAYING)
            if type(words[place]) is int}
        self.staying = frozenset(staying)
        self.words = {
            "classes": [_class_of(optimizer) for optimizer in optimizers],
            "counts": [each.counts for each in self.leaves], "names": [_names_checked(each.names) for each in self.leaves],
            "kinds": [[list(kind) for kind in each.kinds] for each in self.leaves],
            "leaves": of_leaves, "others": of_others,
            **_each_once([self._tensor(value, number in staying) for number, value in enumerate(self.tensors)])}
        if not Memory(self.tensors, self.staying).is_apart(self.tensors):
            raise NotPortable("an optimizer of tensors that share memory")

    def number_of(self, tensor):
        """Of a tensor that stays the same object; None of another one."""
        number = self._numbers.get(id(tensor))
        return number if number in self.staying else None

    def marks(self):
        """[[number, mark]] of those that stay: a trace has left these marks."""
        return [[number, mark_of(self.tensors[number])] for number in sorted(self.staying)]

    def _leaf(self, value, is_number):
        if isinstance(value, torch.Tensor):
            return self._number(value)
        if is_number and type(value) is float and math.isfinite(value):
            return _NUMBER
        if type(value) not in CONSTANTS:
            raise NotPortable(f"an optimizer that holds a {type(value).__name__}")
        return {"value": encode(value)}

    def _number(self, tensor):
        number = self._numbers.setdefault(id(tensor), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append(tensor)
        return number

    def _tensor(self, tensor, stays):
        return [
            *_kind_of(tensor), None if stays else mark_of(tensor),  # A trace marks those itself.
            answers_of(tensor, self._describe)]


def _each_once(words):
    """Many tensors are alike: {"tensors": which of "tensor_words" are those of each}."""
    places = {}
    numbers = [places.setdefault(repr(each), len(places)) for each in words]
    return {"tensors": numbers, "tensor_words": [words[numbers.index(number)] for number in range(len(places))]}


def _kind_of(tensor):
    """[class, words]"""
    kind = type(tensor)
    if kind not in _TENSORS or tensor.layout is not torch.strided or not has_memory(tensor):
        raise NotPortable(f"an optimizer of a {kind.__name__} that is no plain tensor")
    if dynamic_dims(tensor) or has_unbacked_sizes(tensor):
        raise NotPortable("an optimizer of tensors whose sizes are marked")
    return [kind.__name__, tensor_words(tensor, list(tensor.shape), list(tensor.stride()))]


def first_difference_beside_states(optimizers, expected, keeps_capturable):
    """(what, expected, found) of the first parameter, gradient or option that is none as `expected` says, or None. States are made,
    and with them words, only where there is none: they may be large. `keeps_capturable`: of FirstStates."""
    for optimizer, counts, kinds, words in zip(optimizers, expected["counts"], expected["kinds"], expected["leaves"]):
        leaves = leaves_of(optimizer)
        count = sum([each for kind, each in kinds if kind not in (KEY, STATE)])
        beside = sum([each for kind, each in leaves.kinds if kind not in (KEY, STATE)])
        if beside != count or leaves.counts[0] != counts[0]:
            return "what optimizers hold beside states", f"{count} objects", f"{beside} objects"
        for value, known in zip(leaves.values, words[:count]):
            if not _is_as(value, known, expected, keeps_capturable):
                return "what optimizers hold beside states", str(known), repr(value)[:200]
    return None


def _is_as(value, words, expected, keeps_capturable):
    if isinstance(value, torch.Tensor):
        return type(words) is int and same_words(_kind_of(value), expected["tensor_words"][expected["tensors"][words]][:2])
    if words == _NUMBER:
        return type(value) is float
    if type(value) not in CONSTANTS or type(words) is int:
        return False
    return keeps_capturable and type(value) is bool or same_words({"value": encode(value)}, words)


def _class_of(optimizer):
    if not is_pytorchs(optimizer):
        raise NotPortable(f"an optimizer that is not as PyTorch has it, {type(optimizer).__name__}")
    if hooks_of(optimizer):
        raise NotPortable("an optimizer with hooks")
    return class_path(type(optimizer))


def _names_checked(names):
    if not {*map(type, names)} <= {str}:
        raise NotPortable("an optimizer that holds something under a name that is no text")
    return names
