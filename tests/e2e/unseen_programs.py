"""Programs whose result depends on what no guard tells: sets in sets and in keys, what runs in place of being traced, what
goes by another name. test_warm_premises.py runs them under another seed of hashes.
"""

HEAD = '''
import abc
import collections
import dataclasses
import enum
import functools
import importlib.machinery
import importlib.util
import operator
import re
import sys
import typing

import torch

FACTORS = {"red": 1.5, "green": 0.25, "blue": 3.0, "white": 0.5, "black": 2.0}
NAMES = tuple(FACTORS)
COUNT = 1
MORE, FEWER = dict.fromkeys(NAMES), dict.fromkeys(NAMES[1:])


class Box:
    pass


class Member(enum.Enum):
    ONE = 1

    def __str__(self):
        return text()


def first(x, names):
    for name in names:
        return x * FACTORS[name]


BODY

def run(compile):
    torch.manual_seed(5)
    x = torch.randn(3, 8)
    compiled = compile(ENTRY)
    with torch.no_grad():
        found = compiled(x)
    return (found[0] * found[1] if isinstance(found, tuple) else found).detach().clone()
'''

_OF_A_MEMBER = '''

def ENTRY(x):
    return x * (f"{Member.ONE}".index("red") + 2)
'''

# Name -> body.
PROGRAMS = {
    "hash_of_builtins_beside_a_member": '''
import builtins

SCALES = {Member.ONE: 2}


def ENTRY(x):
    return x * (SCALES[Member.ONE] + vars(builtins)["ha" + "sh"]("red") % 100)
''',
    "hash_under_a_name_that_is_a_text": '''
SCALES, SPECIAL = {Member.ONE: 2}, "hash"
KEY = dataclasses.make_dataclass("Key", ["name"], frozen=True)("red")


def ENTRY(x):
    return x * (SCALES[Member.ONE] + getattr(KEY, f"__{SPECIAL}__")() % 100)
''',
    "hash_that_pythons_library_keeps": '''
SCALES = {Member.ONE: 2}


def ENTRY(x):
    return x * (SCALES[Member.ONE] + functools._make_key(("red", 1), {}, False).hashvalue % 100)
''',
    "hash_of_a_member": '''
SCALES = {Member.ONE: 2}


def ENTRY(x):
    return x * (SCALES[Member.ONE] + Member.ONE.__hash__() % 100)
''',
    "hash_that_is_kept_by_its_method": '''
class Kept:
    def __hash__(self):
        self.kept = "red".__hash__()
        return self.kept


def ENTRY(x):
    kept = Kept()
    return x * ({kept: 3}[kept] + kept.kept % 100)
''',
    "hashes_that_are_few": '''
class Few:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return str.__hash__(self.name) % 2

    def __eq__(self, other):
        return True


def ENTRY(x):
    found = {Few("red"): 1}
    return x * (1 + sum(Few(name) in found for name in NAMES))
''',
    "hash_in_a_list": '''
HASHES = [Member.ONE.__hash__]


def ENTRY(x):
    return x * (HASHES[0]() % 100)
''',
    "hash_by_a_member_of_texts": '''
class Text(str, enum.Enum):
    HASH = "__ha" + "sh__"


SCALES = {Member.ONE: 2}


def ENTRY(x):
    return x * (SCALES[Member.ONE] + getattr(Member.ONE, Text.HASH)() % 100)
''',
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
    "hash_by_another_name": '''
class Kind(enum.Enum):
    FIRST = 1
    key = enum.Enum.__hash__


def ENTRY(x):
    return x * (Kind.FIRST.key() % 100)
''',
    "hash_that_is_kept": '''
class Kept:
    def __hash__(self):
        self.kept = hash("red")
        return self.kept


KEPT = Kept()
SCALES = {Member.ONE: 2, KEPT: 3}


def ENTRY(x):
    return x * (SCALES[Member.ONE] + SCALES[KEPT] + KEPT.kept % 100)
''',
    "absent_from_a_dictionary_that_makes": '''
TABLE = collections.defaultdict(int, {"a": 2, **({"b": 7} if COUNT == 1 else {})})


def ENTRY(x):
    return x * (2 if "b" in TABLE else 3) * len(TABLE)
''',
    "keys_in_a_list": '''
TABLE = dict.fromkeys(NAMES[:COUNT])


def ENTRY(x):
    return x * len([*TABLE, "one"])
''',
    "keys_of_keys": '''
TABLE = Box()
TABLE.items = dict.fromkeys(NAMES[:COUNT])


def ENTRY(x):
    return x * len(dict.fromkeys(TABLE.items))
''',
    "forbidden_import": '''
import sys

if COUNT == 3:
    sys.modules["colorsys"] = None


def ENTRY(x):
    try:
        import colorsys
    except ImportError:
        return x * 7
    return x * len(colorsys.__name__)
''',
    "spec_of_a_forbidden_module": '''
import importlib.util
import sys

if COUNT == 3:
    sys.modules["chunk"] = None


def ENTRY(x):
    return x * (2 if importlib.util.find_spec("chunk") is not None else 3)
''',
    "owners_of_methods": '''
class C:
    def m(self):
        return 2


A, B = C(), C()
FIRST, SECOND = A.m, A.m if COUNT == 1 else B.m


def ENTRY(x):
    return x * (2 if FIRST == SECOND else 3)
''',
    "class_whose_name_another_took": '''
class C:
    pass


OLD = C()
if COUNT == 3:
    class C:
        pass


def ENTRY(x):
    return x * (2 if isinstance(OLD, C) else 3)
''',
    "matched_as_a_sequence": '''
import collections.abc


class Items:
    def __len__(self):
        return 2

    def __getitem__(self, place):
        return (2, 5)[place]


ITEMS = Items()
if COUNT == 3:
    collections.abc.Sequence.register(Items)


@torch._dynamo.assume_constant_result
def first():
    match ITEMS:
        case [first, _]:
            return first
    return 7


def ENTRY(x):
    return x * first()
''',
    "abstract_method": '''
def _other(self):
    pass


class Base(abc.ABC):
    other = abc.abstractmethod(_other) if COUNT == 3 else _other

    def m(self):
        return 2


class Kind(Base):
    pass


def ENTRY(x):
    try:
        return x * Kind().m()
    except TypeError:
        return x * 7
''',
    "line_of_an_exception": '''
exec(compile("\\n" * COUNT + """
def where(error):
    return error.__traceback__.tb_lineno


def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * where(error)
""", __file__, "exec"))
''',
    "line_of_a_summary": '''
import traceback

exec(compile("\\n" * COUNT + """
def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * traceback.extract_tb(error.__traceback__)[0].lineno
""", __file__, "exec"))
''',
    "line_by_a_made_name": '''
PREFIX = "tb_"
exec(compile("\\n" * COUNT + """
def ENTRY(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * getattr(error.__traceback__, f"{PREFIX}lineno")
""", __file__, "exec"))
''',
    "globals_of_its_own": '''
import types


def read():
    try:
        return GAIN
    except NameError:
        return 7


read = types.FunctionType(read.__code__, {"__name__": __name__, "__builtins__": __builtins__} | ({"GAIN": 3} if COUNT == 3 else {}))


def ENTRY(x):
    return x * read()
''',
    "module_of_another_file": '''
__file__ = "elsewhere.py"
if COUNT == 3:
    def len(names):
        return 7


def ENTRY(x):
    return x * len(NAMES)
''',
    "module_of_the_same_file": '''
import sys
import types

TWIN = sys.modules[__name__ + "_twin"] = types.ModuleType(__name__ + "_twin")
TWIN.__file__ = __file__
exec(compile("""
def scale():
    try:
        return SCALE
    except NameError:
        return 2
""", __file__, "exec"), vars(TWIN))
if COUNT == 3:
    TWIN.SCALE = 5


def ENTRY(x):
    return x * TWIN.scale()
''',
    "module_without_a_file": '''
import sys
import types

CELL = sys.modules[__name__ + "_cell"] = types.ModuleType(__name__ + "_cell")
CELL.COUNT = COUNT
exec(compile("""
import enum


class Member(enum.Enum):
    ONE = 1

    def __str__(self):
        return text()


def text():
    return "a" * COUNT + "red"


def entry(x):
    return x * f"{Member.ONE}".index("red")
""", "<cell>", "exec"), vars(CELL))
ENTRY = CELL.entry
''',
    "builtin_of_the_program": '''
import builtins

builtins.stoker_test_gain = COUNT
if COUNT == 3:
    builtins.stoker_test_more = 5


def more():
    try:
        return stoker_test_more
    except NameError:
        return 2


def ENTRY(x):
    return x * stoker_test_gain * more()
''',
    "sign_of_no_number": '''
import math

N = float("nan") if COUNT == 1 else -float("nan")


class Held:
    n = N


def ENTRY(x, n=N):
    return x * (math.copysign(2, N) + math.copysign(3, Held.n) + math.copysign(7, n))
''',
    "object_of_a_constant_function": '''
GIVEN = [COUNT]


@torch.compiler.assume_constant_result
def given():
    return GIVEN


@torch.compiler.disable
def ask(kept, x):
    return x * 2 if kept is GIVEN else x * 3


def ENTRY(x):
    return ask(given(), x + 1)
''',
    "set_in_a_set": '''
OUTER = {frozenset(NAMES)}


def ENTRY(x):
    for inner in OUTER:
        return first(x, inner)
''',
    "set_as_a_key": '''
TABLE = {frozenset(NAMES): 1}


def ENTRY(x):
    for key in TABLE:
        return first(x, key)
''',
    "comparison_under_another_name": '''
def is_first(self, names):
    for name in names:
        return name in ("red", "blue")


class Other:
    __eq__ = is_first
    __hash__ = None


BOX = Box()
BOX.names, BOX.other = set(NAMES), Other()


def ENTRY(x):
    return x * 2 if BOX.names == BOX.other else x * 3
''',
    "hash_under_another_name": '''
TABLE = {"of": hash}


def ENTRY(x):
    return x * (TABLE["of"]("red") % 1000)
''',
    "members_text_of_a_container": '''
TABLE = {"names": frozenset(NAMES)}


def text():
    return ",".join(TABLE["names"])
''' + _OF_A_MEMBER,
    "members_text_of_an_objects_method": '''
class Holder:
    def __init__(self):
        self.names = frozenset(NAMES)

    def text(self):
        return ",".join(self.names)


HOLDER = Holder()


def text():
    return HOLDER.text()
''' + _OF_A_MEMBER,
    "members_text_of_a_closure": '''
def around(names):
    def text():
        return ",".join(names)

    return text


text = around(frozenset(NAMES))
''' + _OF_A_MEMBER,
    "members_text_of_views": '''
def both(some, others):
    return ",".join(some & others)


def text():
    return both(MORE.keys(), FEWER.keys()) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_bound_method": '''
class Counter:
    def __init__(self):
        self.count = COUNT

    def text(self):
        return "a" * self.count + "red"


text = functools.partial(Counter().text)
''' + _OF_A_MEMBER,
    "members_text_of_a_maker": '''
MAKE = set[str]


def text():
    return ",".join(MAKE(NAMES))
''' + _OF_A_MEMBER,
    "members_text_of_a_count": '''
class Counter:
    def count(self):
        return COUNT


COUNTER = Counter()


def text():
    return "a" * COUNTER.count() + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_tensor": '''
A = torch.tensor(COUNT)

def text():
    return "a" * (int(A)) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_made_object": '''
class C:
    def __init__(self, n):
        self.n = n

    def get(self):
        return self.n

def text():
    return "a" * (C(COUNT).get()) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_callable_object": '''
class H:
    def __init__(self, n):
        self.n = n

    def __call__(self):
        return self.n


COUNTED = H(COUNT)

def text():
    return "a" * (COUNTED()) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_packages_dictionary": '''
import collections
A = collections.UserDict(n=COUNT)

def text():
    return "a" * (A['n']) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_builtin": '''
import builtins
builtins.stoker_test_count = (lambda: 1) if COUNT == 1 else (lambda: 3)

def text():
    return "a" * (stoker_test_count()) + "red"
''' + _OF_A_MEMBER,
    "missing_member": '''
class E(enum.Enum):
    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value):
        return cls.A if COUNT == 1 else cls.B


def ENTRY(x):
    return x * E("some").value
''',
    "item_of_a_class": '''
class C:
    def __class_getitem__(cls, item):
        return COUNT


def ENTRY(x):
    return x * C[int]
''',
    "item_of_a_class_that_is_given": '''
class C:
    def __class_getitem__(cls, item):
        return item.n


class D:
    n = COUNT


def ENTRY(x):
    return x * C[D]
''',
    "hook_of_subclasses": '''
import abc


class S(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return COUNT == 1


BOX = Box()


def ENTRY(x):
    return x * 2 if isinstance(BOX, S) else x * 3
''',
    "check_of_what_is_given": '''
class Meta(type):
    def __instancecheck__(cls, value):
        return value.n > 1


class S(metaclass=Meta):
    pass


BOX = Box()
BOX.n = COUNT


def ENTRY(x):
    return x * 2 if isinstance(BOX, S) else x * 3
''',
    "property_of_a_member": '''
class E(enum.Enum):
    A = 1

    @property
    def factor(self):
        return COUNT


def ENTRY(x):
    return x * E.A.factor
''',
    "answer_of_a_metaclass": '''
class Meta(type):
    def __getattr__(cls, name):
        return COUNT


class C(metaclass=Meta):
    pass


def ENTRY(x):
    return x * C.anything
''',
    "class_that_is_copied": '''
import copy
import copyreg


class Thing:
    n = COUNT + 1


BOX = Box()
BOX.n = 1
if COUNT == 3:
    copyreg.pickle(Box, lambda box: (Thing, ()))


def ENTRY(x):
    return x * copy.copy(BOX).n
''',
    "name_of_the_process": '''
import multiprocessing

multiprocessing.current_process().name = "a" * COUNT


def ENTRY(x):
    return x * len(multiprocessing.current_process().name)
''',
    "name_of_a_level": '''
import logging

if COUNT == 3:
    logging.addLevelName(77, "abc")


def ENTRY(x):
    return x * len(logging.getLevelName(77))
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
    "tensors_method_in_a_list": '''
DO = [{1: torch.Tensor.exp, 3: torch.Tensor.neg}[COUNT]]


def ENTRY(x):
    return DO[0](x)
''',
    "method_of_a_number_in_a_list": '''
DO = [{1: (5).__add__, 3: (5).__mul__}[COUNT]]


def ENTRY(x):
    return x * DO[0](3)
''',
    "slot_in_a_dictionary": '''
class Slotted:
    __slots__ = ("a", "b")


SLOTTED = Slotted()
SLOTTED.a, SLOTTED.b = 2, 5
DO = {"read": {1: Slotted.a, 3: Slotted.b}[COUNT]}


def ENTRY(x):
    return x * DO["read"].__get__(SLOTTED)
''',
    "function_of_autograd_in_a_list": '''
def of(factor):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * factor

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    return Scaled


DO = [of(COUNT).apply]


def ENTRY(x):
    return DO[0](x)
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
    "bound_method_of_a_class": '''
class Counter:
    def count(self):
        return self.n


COUNTER = Counter()
COUNTER.n = COUNT


class Holder:
    count = COUNTER.count


HOLDER = Holder()


def ENTRY(x):
    return x * HOLDER.count()
''',
    "effect_of_an_import": '''
import pathlib
import sys

PLACE = pathlib.Path(__file__)
LAZY = PLACE.with_name("stoker_lazy.py")
LAZY.write_text(f"import {PLACE.stem} as program\\nprogram.REACHED['n'] = 5\\n")
REACHED = {"n": 1}


def ENTRY(x):
    import stoker_lazy
    return x + 1


def run(compile):
    sys.modules.pop("stoker_lazy", None)
    REACHED["n"] = 1
    with torch.no_grad():
        return compile(ENTRY)(torch.ones(3)) * REACHED["n"]
''',
    "effect_of_an_import_that_was_there": '''
import pathlib
import sys

PLACE = pathlib.Path(__file__)
LAZY = PLACE.with_name("stoker_other_lazy.py")
LAZY.write_text(f"import {PLACE.stem} as program\\nprogram.REACHED['n'] = 5\\n")
REACHED = {"n": 1}


def helper(x):
    import stoker_other_lazy
    return x + 1


def ENTRY(x):
    return helper(x)


def run(compile):
    if COUNT == 3:
        sys.modules.pop("stoker_other_lazy", None)
    else:
        import stoker_other_lazy
    REACHED["n"] = 1
    with torch.no_grad():
        return compile(ENTRY)(torch.ones(3)) * REACHED["n"]
''',
    "effect_on_pytorchs_state": '''
def ENTRY(x):
    torch.set_float32_matmul_precision("medium")
    return x + 1


def run(compile):
    result = compile(ENTRY)(torch.ones(3))
    result = result * len(torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("highest")
    return result
''',
    "effect_on_warnings": '''
def ENTRY(x):
    torch.set_warn_always(True)
    return x + 1


def run(compile):
    result = compile(ENTRY)(torch.ones(3)) * (2 if torch.is_warn_always_enabled() else 3)
    torch.set_warn_always(False)
    return result
''',
    "sizes_of_an_operator": '''
@torch.library.custom_op(f"stoker_test::rows_{__name__}", mutates_args=())
def rows(x: torch.Tensor) -> torch.Tensor:
    return x[:COUNT].clone()


@rows.register_fake
def _(x):
    return x.new_empty((COUNT, x.shape[1]))


def ENTRY(x):
    y = rows(x)
    return y.sum(0) * y.shape[0]
''',
    "attribute_of_a_kind_of_int": '''
class Thing(int):
    def __bool__(self):
        return self.n == 1


THING = Thing(3)
THING.n = COUNT


def ENTRY(x):
    return x * 2 if THING else x * 3
''',
    "property_of_a_pattern": '''
class Point:
    __match_args__ = ("area",)

    @property
    def area(self):
        return COUNT


POINT = Point()


def ENTRY(x):
    match POINT:
        case Point(area):
            return x * area
''',
    "methods_in_a_table": '''
class Point:
    def area(self, n=COUNT):
        return n

    TABLE = {"a": [area]}


POINT = Point()


def ENTRY(x):
    return x * Point.TABLE["a"][0](POINT)
''',
    "keys_of_a_mapping": '''
class Mapping:
    def keys(self, n=COUNT):
        return [str(n)]

    def __getitem__(self, key):
        return 2 if key == "1" else 3


MAPPING = Mapping()


def of(**names):
    return sum(names.values())


def ENTRY(x):
    return x * of(**MAPPING)
''',
    "forward_hidden": '''
class Mixed:
    if COUNT == 3:
        def forward(self, x):
            return x * 3


class Base(torch.nn.Module):
    def forward(self, x):
        return x + 1


class Net(Mixed, Base):
    pass


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        return self.net(x)


ENTRY = Outer()
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
    "ordered_members": '''
@functools.total_ordering
class Level(enum.Enum):
    LOW = 1
    HIGH = 2

    def __lt__(self, other):
        return self.value < other.value - COUNT


def ENTRY(x):
    return x * 2 if Level.LOW >= Level.HIGH else x * 3
''',
    "ordered_members_patched": '''
@functools.total_ordering
class Level(enum.Enum):
    LOW = 1
    HIGH = 2

    def __lt__(self, other):
        return self.value < other.value


if COUNT == 3:
    Level.__ge__ = lambda self, other: True


def ENTRY(x):
    return x * 2 if Level.LOW >= Level.HIGH else x * 3
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
    "method_of_an_object_in_a_class": '''
class Steps:
    def one(self):
        return 1

    def two(self):
        return 2


class Config:
    step = Steps().one if COUNT == 1 else Steps().two


def ENTRY(x):
    return x * Config.step()
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

# Of these, a process in which nothing is changed starts warm.
WARM_UNCHANGED = (
    "methods_in_a_table", "property_of_a_pattern", "forward_hidden", "named_tuple_made", "named_tuple_given",
    "named_tuple_of_another_maker", "named_tuple_made_otherwise", "named_tuple_with_fields_swapped",
    "ordered_members", "ordered_members_patched", "data_class_of_an_operator", "data_class_of_a_member",
    "method_of_a_named_tuple", "method_of_a_named_tuple_patched", "method_of_an_object_in_a_class")

# Programs that start warm, where nothing of them is changed: what they ask of Python's library no guard tells, either.
USUAL = {
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
}


def text_of(body):
    return HEAD.replace("BODY", body) if "def run(" not in body else HEAD.partition("BODY")[0] + body


def rows():
    """(name, the program of the first process, that of the second)"""
    for name, body in PROGRAMS.items():
        yield name, text_of(body), text_of(body).replace("COUNT = 1", "COUNT = 3")


def usual_rows():
    for name, body in USUAL.items():
        yield name, text_of(body), text_of(body)
