"""The program of test_warm_premises.py: functions and models, each of which reads something that Dynamo may fold."""

MODULE = '''
import abc, collections, contextlib, dataclasses, enum, functools, importlib.util, os, pathlib, platform, re, sys, types, typing
import numpy as np
import torch
from torch import nn
from stoker.captures.words import installed

THIS = sys.modules[__name__]
# HEADER


class Config:
    SCALE = 2.0
    STEPS = [1, 2]
    TABLE = {"first": 1.0}
    note: int = 1

    class Inner:
        DEPTH = 3


class Parent(nn.Module):
    RATE = 0.5
    LEVEL = 1.5


class Meta(type):
    SIZE = 2

    def __len__(cls):
        return cls.SIZE

    def __instancecheck__(cls, value):
        return hasattr(value, "is_special")


class Special(metaclass=Meta):
    pass


class Kind(enum.Enum):
    SLOW = 1
    FAST = 2
    # KIND

    @property
    def factor(self):
        return self.value * 1.5


class Shape(abc.ABC):
    pass


class Thing:
    bonus = 0.25


@dataclasses.dataclass
class Options:
    gain: float = 1.25


class Point(collections.namedtuple("Point", "a b", defaults=(0.5,))):
    pass


class Holder:
    settings = Options()
    point = Point(1.0)


class Offset:
    def __init__(self, amount):
        self.amount = amount

    def __get__(self, instance, owner):
        return self.amount


def decorated(function):
    @functools.wraps(function)
    def wrapper(x, extra=0.5):
        return function(x) + extra

    return wrapper


@decorated
def helper(x):
    return x * 2


def plain(x):
    return x + getattr(plain, "more", 0.125)


@torch.compiler.assume_constant_result
def constant():
    return 1.5


def opaque(x):
    return x * 1.5


torch.compiler.allow_in_graph(opaque)


class Steps:
    def one(self, x):
        return x + 1

    def two(self, x):
        return x * 3


STEP = Steps().one
TABLE = {"act": torch.relu}
ORDER = collections.OrderedDict(a=1.0, b=2.0)
FACTORS = {"red": 1.5, "green": 0.5, "blue": 3.0, "pink": 1.25}
NAMES = set(FACTORS)


class Net(Parent):
    # NET
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.kind = Kind.FAST
        self.thing = Thing()
        self.step = Steps().one
        self.act = torch.tanh
        self.order = collections.OrderedDict(a=1.0, b=2.0)

    offset = Offset(0.5)

    def forward(self, x):
        x = self.linear(x)
        x = x * Config.SCALE * len(Config.STEPS) + Config.TABLE["first"]
        x = x * Config.Inner.DEPTH + type(self).RATE + self.LEVEL
        x = x * self.kind.value + len(Kind) + Kind.SLOW.factor
        x = x * 2 if hasattr(self, "extra") else x
        x = x * 3 if hasattr(Config, "MORE") else x
        x = x * 5 if hasattr(THIS, "EXTRA") else x
        x = x * 7 if "flag" in self.__dict__ else x
        x = x + len(Config.__annotations__)
        x = x * 11 if isinstance(self.thing, Shape) else x
        x = x * 13 if isinstance(self.thing, Special) else x
        x = x * len(Special) + self.thing.bonus
        x = x * float(os.environ.get("STOKER_TEST_PREMISE", "1.0"))
        x = helper(x) + plain(x) + self.offset
        x = self.step(x) + STEP(x) + self.act(x) + TABLE["act"](x)
        x = x * Holder.settings.gain + Holder.point.b + Options().gain
        x = x * max(2, 1) + abs(-3)
        return x


def constants(x):
    return x * constant()


@functools.lru_cache
@torch.compiler.assume_constant_result
def constant_of(name, scale=1.0):
    return scale * float(os.environ.get(name, "3.0"))


def constants_of_calls(x):
    return x * constant_of("STOKER_TEST_CONSTANT", scale=2.0)


def constant_beyond_a_break(x):
    kept = constant()
    torch._dynamo.graph_break()
    return x * kept


@functools.lru_cache
@torch.compiler.assume_constant_result
def constant_scaled(by, scale=1.0):
    return by * scale


def constants_of_scales(x):
    return x * constant_scaled(1.25, scale=2.0)


@torch.compiler.assume_constant_result
def constant_table():
    return {"gain": [1.5, object]}


@torch.compiler.assume_constant_result
def constant_number():
    return (1, 2.0)


def constants_as_numbers(x):
    return ((x > 0) * constant_number()[0] + (x > 0)).float()


def constants_without_words(x):
    return x * constant_table()["gain"][0]


def inside(x):
    return opaque(x + 1)


def in_order(x):
    for value in ORDER.values():
        x = x * value + 1
    return x


NUMBERS = {1}


def of_a_set_of_numbers(x):
    for number in NUMBERS:
        return ((x > 0) * number + (x > 0)).float()


CHOICES = {7, 8}


def of_chosen(x):
    if 7 in CHOICES:
        x = x * 1.5
    return x * 2 if 9 in CHOICES else x


def of_a_set(x):
    for name in NAMES:
        x = x * FACTORS[name] + 1
    return x


ROWS = 3
ROWS_GIVEN = 3


@torch.library.custom_op(f"stoker_test::rows_of_{__name__}", mutates_args=())
def rows_of(x: torch.Tensor) -> torch.Tensor:
    return x[:ROWS_GIVEN] * 2


@rows_of.register_fake
def _(x):
    return torch.empty_like(x[:ROWS])


def of_an_operator(x):
    return rows_of(x * 3).tanh() + 1


class Palette:
    NAMES = frozenset(FACTORS)
    TABLES = (1, set(FACTORS))

    class Kind(enum.Enum):
        ALL = frozenset(FACTORS)


def in_turn(x, names=frozenset(FACTORS)):
    for name in names:
        x = x * FACTORS[name] + 1
    return x


def of_a_default_set(x):
    return in_turn(x)


def of_a_set_in_a_tuple(x):
    return in_turn(x, Palette.TABLES[1])


def of_a_set_of_a_member(x):
    return in_turn(x, Palette.Kind.ALL.value)


def of_a_class_set(x):
    for name in Palette.NAMES:
        x = x * FACTORS[name] + 1
    return x


PACKAGE = pathlib.Path(__file__).with_suffix(".installed") / "package.py"
PACKAGE.parent.mkdir(exist_ok=True)
installed._FOLDERS += (str(PACKAGE.parent),)
PACKAGE.write_text("""
def scaled(x, factors, in_turn):
    missing = set(factors) - set(factors)
    if missing:
        raise ValueError(f"{list(missing)} are not known.")
    if not in_turn:
        return x * len({*factors, "white"} if len(factors) else list(set(factors)))
    for name in set(factors):
        x = x + factors[name]
    return x


def broken(x):
    import torch

    names = set("abc")
    torch._dynamo.graph_break()
    for name in names:  # The frame that goes on is another one.
        x = x + 1
    return x
""")
LOADER = importlib.machinery.SourceFileLoader(f"package_of_{__name__}", str(PACKAGE))
PACKAGE = sys.modules[LOADER.name] = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(PACKAGE)


def of_a_packages_set(x):
    return PACKAGE.scaled(x, FACTORS, True)


def of_no_set_of_a_package(x):
    return PACKAGE.scaled(x, FACTORS, False)


def of_a_member_by_its_key(x):
    for name in Palette.Kind["ALL"].value:
        x = x * FACTORS[name] + 1
    return x


PLACES = {0, 8}  # Both want the same place in the table.


class Places(enum.Enum):
    ALL = frozenset((8, 16))


def through_places(x, places):
    for place in places:
        x = x * 2 + place
    return x


def of_places(x):
    return through_places(x, PLACES)


def of_literal_places(x):
    for place in {1, 9, 17}:
        x = x * 2 + place
    return x


TENTHS = {0.0, 8.0}


def of_tenths(x):
    return through_places(x, TENTHS)


def of_a_members_places(x):
    return through_places(x, Places["ALL"].value)


def of_a_hash_by_text(x):
    return x * (getattr("red", "__hash__")() % 1000)


def asked_set(x):
    known = {name for name in FACTORS if name != "red"}
    return x * len(known) if "green" in known else x


class Colors:
    __slots__ = ("names", "kept")
    __match_args__ = ("names",)

    def __init__(self):
        self.names = set(FACTORS)

    def __contains__(self, name):
        return name in self.names


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.colors = Colors()
        self.__own = set(FACTORS)
        self.known = self.colors.names

    def forward(self, x):
        return self.scaled(x) if "red" in self.colors and len(self.__own) == len(self.known) else x

    def scaled(self, x):
        return x * 3


class InTurn(Chosen):
    def scaled(self, x):
        return through_names(x, self.known)


class OwnInTurn(nn.Module):
    def __init__(self):
        super().__init__()
        self.__own = set(FACTORS)

    def forward(self, x):
        for name in self.__own:
            x = x * FACTORS[name] + 1
        return x


class KeepsChosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.known, self.listed = set(FACTORS), []

    @property
    def chosen(self):
        return self.listed

    @chosen.setter
    def chosen(self, names):
        self.listed = list(names)

    def forward(self, x):
        self.chosen = self.known
        return through_names(x, self.listed)


def through_names(x, names):
    for name in names:
        x = x * FACTORS[name] + 1
    return x


COLORS = Colors()
READ_NAMES = Colors.names
ASK, ASKED = getattr, "names"


SHARED = {"gain": 2.0}


class Sharing:
    pass


SHARING, SHARING_COLORS = Sharing(), Sharing()
SHARING.table = SHARED
SHARING_COLORS.names = COLORS.names


class Shares(nn.Module):
    """It comes to what it holds by a global, too."""

    def __init__(self):
        super().__init__()
        self.table, self.colors = SHARED, COLORS

    def forward(self, x):
        return x * self.table["gain"] + SHARING.table["gain"]


class SharesNames(Shares):
    def forward(self, x):
        return through_names(x, SHARING_COLORS.names) if "red" in self.colors else x


def of_an_attribute_by_another_name(x):
    return through_names(x, ASK(COLORS, ASKED)) if "red" in COLORS else x


def of_a_slot_by_another_name(x):
    return through_names(x, READ_NAMES.__get__(COLORS)) if "red" in COLORS else x


def of_a_pattern(x):
    match COLORS:
        case Colors(names):
            return through_names(x, names) if "red" in COLORS else x


def of_a_variable_by_text(x):
    names = COLORS.names
    return through_names(x, locals()["names"])


def of_changed_colors(x):
    COLORS.names.add("white")
    return x * len(COLORS.names)


def of_kept_colors(x):
    COLORS.kept = COLORS.names | {"white"}
    return x * len(COLORS.kept)


class Level(enum.IntEnum):
    SMALL = 1


class Word(str, enum.Enum):
    FIRST = "first"


LEVEL = Level.SMALL
WORDS = [Word.FIRST]


def of_a_member(x):
    return x * (LEVEL + 1)


def of_a_member_in_a_list(x):
    return x * (2 if WORDS[0] == "first" else 3)


class Count(int):
    def __add__(self, other):
        return int(self) * 2 + other


COUNT = Count(3)


def of_a_kind_of_int(x):
    return x * (COUNT + 1)


KEYS = {}
NESTED = {"inner": {}}
ELEMENTS = {"some"}


class Registry:
    def __init__(self):
        self.known = {}

    def __contains__(self, name):
        try:
            self.known[name]
        except KeyError:
            return False
        return True


REGISTRY = Registry()


def missing_key(x):
    try:
        return x * KEYS["gain"]
    except KeyError:
        return x * 10


def missing_key_inside(x):
    try:
        return x * NESTED["inner"]["gain"]
    except LookupError:
        return x * 10


def missing_key_suppressed(x):
    with contextlib.suppress(KeyError):
        x = x * KEYS["gain"]
    return x


def missing_key_asked(x):
    return x * 2 if "gain" in REGISTRY else x * 3


def missing_element(x):
    try:
        ELEMENTS.copy().remove("gain")
    except KeyError:
        return x * 10
    return x


GAINS = {"gain": 2.0}


def missing_in_a_pattern(x):
    match GAINS:
        case {"gain": gain, "bias": bias}:
            return x * gain + bias
        case {"gain": gain}:
            return x * gain


def of_a_host(x):
    return x * len(platform.node())


SETTINGS = {"gain": 1, "bias": 22}
SPACE = types.SimpleNamespace(gain=1)


def text_of_a_dictionary(x):
    return x * str(SETTINGS).index("bias") + len(f"{SETTINGS}")


def text_of_a_namespace(x):
    return x * len(str(SPACE))


@typing.runtime_checkable
class Scaled(typing.Protocol):
    def scale(self):
        """How much."""


class Plain:
    pass


PLAIN = Plain()


def of_a_protocol(x):
    return x * 2 if isinstance(PLAIN, Scaled) else x * 3


class Weighed:
    def __init__(self):
        self.weights = {"first": 1.5}

    def weigh(self, x):
        return x * self.weights["first"]


WEIGHED = Weighed()
PATTERN = re.compile("a+")
LEAST = torch.finfo(torch.float32)
ELEMENTS_OF = np.dtype("f4")
NUMBER, ARRAY = np.float64(1.5), np.array([[1.0, 2.0], [3.0, 4.0]], "f4")
PAIRED = int | None


def of_an_object_as_constant(x):
    return torch._dynamo.nonstrict_trace(WEIGHED.weigh)(x) + 1


FACTORS_INSIDE = {"inner": {"weight": 2.0}}


def of_nested(x):
    return x * FACTORS_INSIDE["inner"]["weight"]


def of_a_function_that_is_not_traced(x):
    return torch._dynamo.nonstrict_trace(of_nested)(x) + 1


def of_a_compiled_pattern(x):
    return x * len(PATTERN.pattern)


def of_limits(x):
    return x * LEAST.bits


def of_a_type_of_elements(x):
    return x * ELEMENTS_OF.itemsize


def of_a_numpy_number(x):
    return x * NUMBER


def of_an_array(x):
    return torch.as_tensor(ARRAY * ARRAY) + x[:2, :2]


def of_a_union(x):
    return x * 2 if isinstance(3, PAIRED) else x * 3


class Slotted:
    __slots__ = ("amount",)


SLOTTED = Slotted()


def missing_in_a_slot(x):
    try:
        return x * SLOTTED.amount
    except AttributeError:
        return x * 10


def run(compile):
    torch.manual_seed(5)
    x = torch.randn(3, 8)
    arguments, keywords = [x], {}
    model = Net().eval()
    entry = model
    # SETUP
    compiled = compile(entry)
    with torch.no_grad():
        return compiled(*arguments, **keywords).detach().clone()
'''
