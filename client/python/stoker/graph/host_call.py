"""What an extern_call's target says: an operator of PyTorch, what it is given, and how its tensors lie. JSON, the same
for the same call: it is part of the graph's key."""

import json
from typing import NamedTuple

import torch

from ..base.signals import let_through
from . import dims
from .program import Slot

MAX_BYTES = 4096  # Of a target (protocol/graph/graph.h).

_CONSTANTS = (torch.dtype, torch.layout, torch.memory_format)
_PLAIN = (type(None), bool, int, float, str)


class NoHostCall(ValueError):
    """It cannot be said in a target, or no target says it; the message says why."""


class View(NamedTuple):
    """What an operator sees of an operand's memory: its sizes and strides, and where it begins, in elements."""

    shape: tuple
    strides: tuple
    offset: int

    @property
    def varies(self):
        return dims.varies(tuple(self))

    def at(self, sizes):
        """With numbers, given what its Dims count."""
        return View(*dims.at(tuple(self), sizes))

    def fits(self, elements):
        """Does it, of numbers, lie within so many?"""
        if len(self.shape) != len(self.strides) or min((*self.shape, *self.strides, self.offset), default=0) < 0:
            return False
        return 0 in self.shape or self.offset + sum(
            (size - 1) * stride for size, stride in zip(self.shape, self.strides)) < elements


class HostCall(NamedTuple):
    """Operands and results are row-major tensors of dims in another order: `orders` has for each operand the dims of
    the tensor that the operator sees, outermost first; None: as they are; or a View. Where sizes vary, an argument, or a
    number of a View, may be a Dim, whose symbols count the sizes of the operands and then of the results, as they lie."""

    operator: str  # "aten.topk.default"
    arguments: list  # With Slots for operands.
    keywords: dict
    orders: list
    results: list  # (which of the tensors that the operator gives, None where it gives one; its order as above)

    @property
    def varies(self):
        """Is there a size that varies in it?"""
        views = [order for order in self.orders if type(order) is View]
        return dims.varies(self.arguments) or dims.varies(list(self.keywords.values())) or any(view.varies for view in views)

    def text(self):
        words = {
            "op": self.operator, "arguments": _encode(self.arguments),
            "keywords": [[name, _encode(value)] for name, value in self.keywords.items()],
            "orders": [{"view": _encode(list(order))} if type(order) is View else order for order in self.orders],
            "results": self.results}
        text = json.dumps(words, separators=(",", ":"))
        if len(text) > MAX_BYTES:
            raise NoHostCall(f"its arguments take {len(text)} bytes, more than {MAX_BYTES}")
        return text

    @classmethod
    def parse(cls, text):
        try:
            words = json.loads(text)
            return cls(
                str(words["op"]), _decode(words["arguments"]),
                {str(name): _decode(value) for name, value in words["keywords"]},
                [_seen(order) for order in words["orders"]],
                [(place, order and _order(order)) for place, order in words["results"]])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            let_through(error)
            raise NoHostCall(f"no call of an operator is {text[:200]!r} ({error})") from None


def _seen(words):
    if isinstance(words, dict):
        shape, strides, offset = words["view"]
        return View(tuple([_size(each) for each in shape]), tuple([_size(each) for each in strides]), _size(offset))
    return words and _order(words)


def _size(words):
    return _decode(words) if isinstance(words, dict) and "size" in words else int(words)


def _order(words):
    order = tuple(words)
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"{words} is no order of dims")
    return order


def _encode(argument):
    if type(argument) in _PLAIN:
        return argument
    if isinstance(argument, Slot):
        return {"operand": argument.index}
    if type(argument) in (list, tuple):
        return [_encode(item) for item in argument]
    if isinstance(argument, _CONSTANTS):
        return {"torch": str(argument).removeprefix("torch.")}
    if isinstance(argument, dims.Dim):
        return {"size": dims.to_words(argument)}
    if isinstance(argument, torch.device):
        return {"device": argument.type}  # Of any number: the one that the call runs on.
    raise NoHostCall(f"an argument of type {type(argument).__name__}")


def _decode(words):
    if isinstance(words, list):
        return [_decode(item) for item in words]
    if not isinstance(words, dict):
        return words
    (tag, body), = words.items()
    if tag == "operand":
        return Slot(int(body))
    if tag == "size":
        return dims.from_words(body)
    if tag == "device":
        return torch.device(body)
    value = getattr(torch, body) if tag == "torch" else None
    if not isinstance(value, _CONSTANTS):
        raise ValueError(f"{words} is no constant")
    return value
