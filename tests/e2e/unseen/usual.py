"""Programs that start warm, where nothing of them is changed: what they ask of Python's library no guard tells, either."""

PROGRAMS = {
    "usual_copies": '''
import copy

BOX = Box()
BOX.n, BOX.names = 2, ["a"]


def ENTRY(x):
    return x * copy.copy(BOX).n * len(copy.deepcopy({"a": [1, 2], "b": (3, 4.0)})) * len(copy.copy(NAMES))
''',
    "usual_library": '''
import collections
import contextlib
import inspect
import itertools
import logging
import multiprocessing
import operator

LOG = logging.getLogger(__name__)
Pair = collections.namedtuple("Pair", "a b")


class Named(Pair):
    first = Pair.a


@dataclasses.dataclass
class Options:
    rate: float = 0.5
    names: list = dataclasses.field(default_factory=list)


@contextlib.contextmanager
def around(n):
    yield n + 1


def scaled(x, n, *, more=1):
    return x * n * more


NAMED, OPTIONS, HELD = Named(2, 3), Options(), inspect.signature(scaled)


def ENTRY(x):
    with around(2) as n, contextlib.suppress(KeyError):
        x = functools.partial(scaled, more=2)(x, n) * NAMED.first
    x = x * dataclasses.replace(OPTIONS, rate=2.0).rate * len(dataclasses.fields(OPTIONS)) * dataclasses.asdict(OPTIONS)["rate"]
    x = x * len(HELD.parameters) * HELD.parameters["more"].default * len(inspect.signature(scaled).parameters)
    x = x * len(logging.getLevelName(20)) * len(multiprocessing.current_process().name)
    x = x * collections.OrderedDict(a=1)["a"] * functools.reduce(operator.mul, (1, 2)) * len(list(itertools.chain([1], [2])))
    return x * (2 if isinstance(OPTIONS, Options) and Member.ONE is Member(1) else 3)
''',
    "usual_sums": '''
PARTS = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Identity()])


def ENTRY(x):
    return sum(part(x) for part in PARTS) + sum([x, x * 2]) + functools.reduce(lambda a, b: a * b, [x, x + 1])
''',
    "usual_arrays": '''
import numpy as np

ADD = np.add


def ENTRY(x):
    return x * (2 if ADD is np.add else 3)
''',
    "usual_scan": '''
from torch._higher_order_ops.associative_scan import associative_scan


def ENTRY(x):
    return associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")
''',
    "usual_tables": '''
TABLE = {"exp": torch.Tensor.exp, "sum": torch.Tensor.sum, "relu": torch.relu, "size": torch.Tensor.size}
STEPS = [torch.Tensor.abs, torch.nn.functional.gelu, torch.sin]


def ENTRY(x):
    for step in STEPS:
        x = step(x)
    return TABLE["exp"](x) * TABLE["size"](x, 0)
''',
    "usual_imports": '''
def ENTRY(x):
    import math

    import torch.nn.functional as F
    from torch import nn
    return F.relu(x) * math.pi
''',
    "usual_keys": '''
import fractions


class Part(enum.Flag):
    LEFT = 1
    RIGHT = 2


@dataclasses.dataclass(frozen=True)
class Named:
    name: str


class Own:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


HALF, RED, OWN = fractions.Fraction(1, 2), Named("red"), Own("red")
SCALES = {Member.ONE: 2, Part.LEFT: 3, Part.LEFT | Part.RIGHT: 5, HALF: 7, RED: 11, OWN: 13}


def ENTRY(x):
    return x * SCALES[Member.ONE] * SCALES[Part.LEFT | Part.RIGHT] * SCALES[HALF] * SCALES[RED] * SCALES[OWN]
''',
    "usual_generics": '''
Kind = typing.TypeVar("Kind")


class Layer(torch.nn.Module, typing.Generic[Kind]):
    def __init__(self):
        super().__init__()
        self.scale = 2

    def forward(self, x):
        return x * self.scale


@dataclasses.dataclass
class Settings(typing.Generic[Kind]):
    count: int = 3


class Whole(Settings[int]):
    pass


class Scaling(typing.Protocol):
    def scaled(self, x): ...


class Doubling(Scaling):
    def scaled(self, x):
        return x * 2


class Pair(typing.NamedTuple, typing.Generic[Kind]):
    first: Kind
    second: Kind


LAYER, SETTINGS, DOUBLING = Layer(), Whole(), Doubling()


def ENTRY(x):
    return DOUBLING.scaled(Pair(LAYER(x), x).first) * SETTINGS.count
''',
    "usual_variables": '''
import os


class Settings:
    @property
    def rate(self):
        return float(os.getenv("STOKER_TEST_RATE", "2"))


SETTINGS = Settings()


def ENTRY(x):
    return x * SETTINGS.rate
''',
    "usual_states": '''
def ENTRY(x):
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        x = x + 1
    with torch.inference_mode():
        return x * 2
''',
    "usual_numbers_that_vary": '''
class Sampling:
    temperature, top = 1.0, 3


SAMPLING = Sampling()


def ENTRY(x, step):
    return x / SAMPLING.temperature + SAMPLING.top * step


def run(compile):
    x = torch.ones(3, 8)
    compiled = compile(ENTRY)
    found = 0
    with torch.no_grad():
        for step in range(2, 6):
            SAMPLING.temperature = step * 0.25
            found = found * 3 + compiled(x, step)
    return found
''',
}
