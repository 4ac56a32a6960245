"""Annotations, generics, TypedDict, ClassVar, Literal, typing.get_type_hints and what reads them."""

import typing

import torch

T = typing.TypeVar("T")
MODES = ("a", "b")


class Box(typing.Generic[T]):
    rate: typing.ClassVar[float] = 1.5

    def __init__(self, value: T):
        self.value = value

    def get(self) -> T:
        return self.value


class Options(typing.TypedDict, total=False):
    gain: float
    shift: float


BOX: Box[float] = Box(2.0)
OPTIONS: Options = {"gain": 1.5}


def entry(x: torch.Tensor, mode: str = "a") -> torch.Tensor:
    x = x * BOX.get() + Box.rate + OPTIONS.get("shift", 0.25)
    x = x + len(Options.__annotations__) + len(MODES)
    return x * OPTIONS["gain"] if mode in MODES else x


def make():
    return entry, (torch.linspace(-1, 1, 8),)
