"""Classes that Python makes out of fields, or that code makes on its way: named tuples, data classes, generics, signatures."""

PROGRAMS = {
    "generic_that_is_patched": '''
Kind = typing.TypeVar("Kind")


class Settings(typing.Generic[Kind]):
    pass


if COUNT == 3:
    typing.Generic.__len__ = lambda self: 5
SETTINGS = Settings()


def ENTRY(x):
    return x * (len(SETTINGS) if hasattr(SETTINGS, "__len__") else 2)
''',
    "signature_that_is_held": '''
import inspect

HELD = inspect.signature(lambda a, b=COUNT: a)


def ENTRY(x):
    return x * HELD.parameters["b"].default
''',
    "parameter_of_another_kind": '''
import inspect

HELD = inspect.Parameter("a", COUNT)


def ENTRY(x):
    return x * int(HELD.kind)
''',
    "field_of_another_name": '''
import collections

Pair = collections.namedtuple("Pair", "a b c d")


class Named(Pair):
    first = {1: Pair.a, 3: Pair.c}[COUNT]


NAMED = Named(2, 3, 5, 7)


def ENTRY(x):
    return x * NAMED.first
''',
    "named_tuple_made": '''
class Output(typing.NamedTuple):
    found: torch.Tensor
    scale: int = COUNT


def ENTRY(x):
    output = Output(x * 2)._replace(found=x)
    return output.found * output.scale
''',
    "named_tuple_given": '''
Output = collections.namedtuple("Output", "found scale", defaults=(COUNT,))


def ENTRY(x):
    return Output(x * 2)
''',
    "named_tuple_of_another_maker": '''
Output = collections.namedtuple("Output", "found scale", defaults=(1,))
if COUNT == 3:
    Output.__new__.__globals__["_tuple_new"] = lambda cls, items: tuple.__new__(cls, (items[0], 3))


def ENTRY(x):
    return Output(x * 2)
''',
    "named_tuple_made_otherwise": '''
class Output(typing.NamedTuple):
    found: torch.Tensor
    scale: int = 1


if COUNT == 3:
    Output.__new__ = lambda cls, found, scale=1: tuple.__new__(cls, (found, 3))


def ENTRY(x):
    return Output(x * 2)
''',
    "named_tuple_with_fields_swapped": '''
Output = collections.namedtuple("Output", "first second")
if COUNT == 3:
    Output.first, Output.second = Output.second, Output.first


def ENTRY(x):
    return Output(x, x * 2).first
''',
    "method_of_a_named_tuple": '''
class Point(typing.NamedTuple):
    n: int = COUNT
    m: int = 2

    def __str__(self):
        return "a" * self._replace(m=1).n + repr(self)

    def __add__(self, other):
        return Point(self.n + other.n, self.m)


POINT = Point()


def ENTRY(x):
    return x * (len(f"{POINT}") + (POINT + POINT).n)
''',
    "method_of_a_named_tuple_patched": '''
class Point(typing.NamedTuple):
    n: int = 1

    def __add__(self, other):
        return Point._make([self.n])


POINT = Point()
if COUNT == 3:
    Point._make = classmethod(lambda cls, items: tuple.__new__(cls, (3,)))


def ENTRY(x):
    return x * (POINT + POINT).n
''',
    "data_class_of_an_operator": '''
@dataclasses.dataclass(frozen=True)
class Config:
    rows: int = COUNT
    kept: list = dataclasses.field(default_factory=lambda: [1])


CONFIG = Config()


@torch.library.custom_op(f"stoker_test::rows_{__name__}", mutates_args=())
def rows(x: torch.Tensor) -> torch.Tensor:
    return x[:CONFIG.rows].clone()


@rows.register_fake
def _(x):
    return x.new_empty((CONFIG.rows, x.shape[1]))


def ENTRY(x):
    y = rows(x)
    return y.sum(0) * y.shape[0]
''',
    "data_class_of_a_member": '''
@dataclasses.dataclass
class Data:
    size: int = 1

    def __post_init__(self):
        self.more = self.size * COUNT


class Kind(enum.Enum):
    ONE = Data(1)

    def __str__(self):
        return "a" * self.value.more + f"{self.value}" + f"{Data(2) == self.value}"


def ENTRY(x):
    return x * len(f"{Kind.ONE}")
''',
    "class_made_on_the_way": '''
def ENTRY(x):
    class Made:
        rate = COUNT

    return x * Made.rate
''',
    "type_made_on_the_way": '''
class Base:
    def __init_subclass__(cls):
        cls.rate = COUNT


def ENTRY(x):
    made = type("Made", (Base,), {})
    return x * made.rate
''',
}
