"""What a trial runs: one program for the kinds of guards, one for aliases and in-place changes, one for sizes, one that
trains, one that steps optimizers."""

import math
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

MODE = "plain"


class Change(NamedTuple):
    name: str
    made: Any  # A context manager: the change holds inside.


class Guarded(torch.nn.Module):
    """Reads everything in one of the ways that guards know."""

    def __init__(self, number):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.register_buffer("offset", torch.ones(8))
        self.scale = 1.0 + number
        self.table = {"first": 2.0, "second": 3.0}
        self.numbers = [1, 2, 3]
        self.requires_grad_(False)

    def forward(self, x, settings, factor=1.5):
        x = self.layer(x) * self.scale * factor + self.offset
        if "third" in self.table:
            x = x + self.table["third"]
        for value in self.table.values():
            x = x * value
        for value in self.numbers:
            x = x + value
        if hasattr(self, "extra"):
            x = x - self.extra
        if "shift" in settings:
            x = x + settings["shift"]
        if MODE == "plain":
            x = torch.nn.functional.gelu(x)
        if self.training:
            x = x + 100
        x = x + torch.ones(8)
        return x if torch.is_grad_enabled() else x + 1000


class Constants:
    def __init__(self, number):
        self.function = Guarded(number)
        self.settings = {}

    def arguments(self):
        return torch.linspace(-1, 1, 32, dtype=torch.float32).reshape(4, 8), self.settings

    def changes(self):
        module = self.function
        yield Change("an attribute changed", _attribute(module, "scale", 7.0))
        yield Change("a value in a dictionary changed", _item(module.table, "second", 5.0))
        yield Change("a key was added to a dictionary", _item(module.table, "third", 4.0))
        yield Change("a list grew", _attribute(module, "numbers", [1, 2, 3, 4]))
        yield Change("an attribute was added", _attribute(module, "extra", 11.0))
        yield Change("a key was added to an argument", _item(self.settings, "shift", 13.0))
        yield Change("a global changed", _item(globals(), "MODE", "other"))
        yield Change("the mode of training changed", _attribute(module, "training", False))
        yield Change("gradients were turned off", torch.no_grad)
        yield Change("a default changed", _attribute(Guarded.forward, "__defaults__", (2.5,)))
        yield Change("a buffer changed", _attribute(module, "offset", torch.full((8,), 17.0)))
        yield Change("the default dtype changed", _default_dtype)


class Aliases:
    """Views of inputs and of results, in-place changes, containers."""

    def __init__(self, number):
        self._number = number
        self.function = aliases

    def arguments(self):
        x = torch.linspace(0, 1, 24).reshape(4, 6)
        return x, x + 1, {"number": self._number, "kind": "sum"}

    def changes(self):
        number = self._number
        yield Change("a value in an argument changed", _attribute(self, "_number", number + 1))


def aliases(x, y, settings):
    y.add_(settings["number"])
    doubled = x * 2
    return {"view": x.t(), "input": x, "results": [doubled, doubled[1:], y]}


class Sizes:
    def __init__(self, number):
        self._name = f"trial {number}"  # A number would be symbolic too.
        self._rows = 6
        self.function = sizes

    def arguments(self):
        return torch.linspace(-2, 2, self._rows * 8).reshape(self._rows, 8), self._name

    def changes(self):
        yield Change("a size changed", _attribute(self, "_rows", 10))
        yield Change("a size became one", _attribute(self, "_rows", 1))


def sizes(x, name):
    total = torch.softmax(x, 0) * x.shape[0] + len(name)
    return total.reshape(-1, 4), total.sum(0)


def _waves(*shape):
    """Numbers between -1 and 1, no row of which is a multiple of others, nor nearly one: what is computed of them is no small
    difference of large numbers, on any processor."""
    return torch.sin(torch.arange(math.prod(shape), dtype=torch.float32) ** 1.5).reshape(shape)


class Trained(torch.nn.Module):
    """Results with gradients, a view of one among them, statistics that change."""

    def __init__(self, number):
        super().__init__()
        self.layer = torch.nn.Linear(8, 6)
        with torch.no_grad():
            for parameter in self.layer.parameters():
                parameter.copy_(_waves(*parameter.shape))
        self.norm = torch.nn.BatchNorm1d(6)
        self.scale = 1.0 + number

    def forward(self, x):
        x = self.norm(self.layer(x)) * self.scale
        return x, x.t(), torch.nn.functional.gelu(x).square().mean(), x.detach() + 1


class Gradients:
    def __init__(self, number):
        self.function = Trained(number)

    def arguments(self):
        return (_waves(5, 8).requires_grad_(),)

    def call(self, function):
        """What it gives, and the gradients of what has one."""
        arguments = self.arguments()
        results = function(*arguments)
        wanted = [tensor for tensor in (*arguments, *self.function.parameters()) if tensor.requires_grad]
        with_gradients = [result for result in results if result.requires_grad]
        if not with_gradients:
            return list(results)
        sums = sum(result.sum() * (place + 1) for place, result in enumerate(with_gradients))
        gradients = torch.autograd.grad(sums + results[0].square().sum(), wanted)
        return [*results, *gradients]

    def changes(self):
        module = self.function
        yield Change("an attribute changed", _attribute(module, "scale", 7.0))
        yield Change("a parameter has no gradient", lambda: _without_gradient(module.layer.weight))
        yield Change("gradients were turned off", torch.no_grad)
        yield Change("the mode of training changed", _attribute(module.norm, "training", False))


class Steps:
    """Two optimizers of one configuration, each with tensors of its own, of which one may be two gradients."""

    def __init__(self, number):
        self._decay = number
        self._is_one = False
        self.function = step

    def call(self, function):
        found = []
        for seed in (1, 2):
            parameters = [torch.nn.Parameter(torch.linspace(0, seed + place, 6)) for place in range(2)]
            optimizer = torch.optim.Adam(parameters, lr=0.1, weight_decay=self._decay)
            for number in range(2):
                first, second = torch.linspace(1, 2 + number, 6), torch.linspace(2, seed, 6)
                parameters[0].grad, parameters[1].grad = first, first if self._is_one else second
                function(optimizer)
            found += [*parameters, *(value for state in optimizer.state.values() for value in state.values())]
        return [value.detach().clone() for value in found]

    def changes(self):
        yield Change("two gradients became one", _attribute(self, "_is_one", True))
        yield Change("an option changed", _attribute(self, "_decay", self._decay + 0.5))


def step(optimizer):
    optimizer.step()


@contextmanager
def _without_gradient(parameter):
    parameter.requires_grad_(False)
    try:
        yield
    finally:
        parameter.requires_grad_()


@contextmanager
def _default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def call(program, function):
    """What one call gives, of the program's function or of what was made of it."""
    return program.call(function) if hasattr(program, "call") else function(*program.arguments())


_NOTHING = object()


def _attribute(owner, name, value):
    @contextmanager
    def made():
        before = getattr(owner, name, _NOTHING)
        setattr(owner, name, value)
        try:
            yield
        finally:
            delattr(owner, name) if before is _NOTHING else setattr(owner, name, before)
    return made


def _item(owner, key, value):
    @contextmanager
    def made():
        before = owner.get(key, _NOTHING)
        owner[key] = value
        try:
            yield
        finally:
            if before is _NOTHING:
                del owner[key]
            else:
                owner[key] = before
    return made


PLAIN = (Constants, Aliases)
SIZED = (Sizes,)
TRAINED = (Gradients,)
OPTIMIZED = (Steps,)
