"""Programs whose result depends on what no guard tells: sets in sets and in keys, what runs in place of being traced, what
goes by another name. test_warm_premises.py runs them under another seed of hashes.
"""

HEAD = '''
import dataclasses
import enum
import functools

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
        return compiled(x).detach().clone()
'''

_OF_A_MEMBER = '''

def ENTRY(x):
    return x * (f"{Member.ONE}".index("red") + 2)
'''

# Name -> body.
PROGRAMS = {
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


H1 = H(COUNT)

def text():
    return "a" * (H1()) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_packages_dictionary": '''
import collections
A = collections.UserDict(n=COUNT)

def text():
    return "a" * (A['n']) + "red"
''' + _OF_A_MEMBER,
    "members_text_of_a_builtin": '''
import builtins
builtins.atk_f = (lambda: 1) if COUNT == 1 else (lambda: 3)

def text():
    return "a" * (atk_f()) + "red"
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
class Me(type):
    def __instancecheck__(cls, value):
        return value.n > 1


class S(metaclass=Me):
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
class Me(type):
    def __getattr__(cls, name):
        return COUNT


class C(metaclass=Me):
    pass


def ENTRY(x):
    return x * C.anything
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
    "truth_of_a_kind_of_int": '''
class Thing(int):
    def __bool__(self):
        return COUNT == 1


THING = Thing(3)


def ENTRY(x):
    return x * 2 if THING else x * 3
''',
    "text_of_a_kind_of_str": '''
class Thing(str):
    def __format__(self, spec):
        return "a" * COUNT


THING = Thing("abc")


def ENTRY(x):
    return x * len(f"{THING}")
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
    "property_that_a_protocol_asks": '''
import typing


@typing.runtime_checkable
class HasGain(typing.Protocol):
    gain: float


class Plain:
    @property
    def gain(self):
        if COUNT != 1:
            raise AttributeError("gain")
        return 1


PLAIN = Plain()


def ENTRY(x):
    return x * 2 if isinstance(PLAIN, HasGain) else x * 3
''',
    "answer_of_a_module": '''
import sys
THIS = sys.modules[__name__]


def __getattr__(name):
    if name == "other" and COUNT == 3:
        return 5
    raise AttributeError(name)


def ENTRY(x):
    return x * 2 if hasattr(THIS, "other") else x * 3
''',
    "function_that_stays_in_the_graph": '''
@torch._dynamo.nonstrict_trace
def scaled(x):
    return x * COUNT


def ENTRY(x):
    return scaled(x)
''',
    "operator_under_vmap": '''
@torch.library.custom_op(f"stoker_test::vm_{__name__}", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@scaled.register_fake
def _(x):
    return torch.empty_like(x)


@scaled.register_vmap
def _(info, dims, x):
    return scaled(x) * COUNT, dims[0]


def ENTRY(x):
    return torch.vmap(scaled)(x)
''',
    "class_that_stays_in_the_graph": '''
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * COUNT

    @staticmethod
    def backward(ctx, g):
        return g


torch._dynamo.allow_in_graph(Scale)


def ENTRY(x):
    return Scale.apply(x)
''',
    "function_that_is_substituted": '''
def original(v):
    return v * COUNT


@torch.compiler.substitute_in_graph(original, can_constant_fold_through=True)
def polyfill(v):
    return v


def ENTRY(x):
    return x * original(1.0)
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
    "text_of_a_members_mixin": '''
class V:
    def __format__(self, spec):
        return "a" * COUNT


class E(V, enum.Enum):
    A = 1


def ENTRY(x):
    return x * len(f"{E.A}")
''',
    "text_by_a_descriptor": '''
class F:
    def __get__(self, instance, owner):
        return lambda spec: "a" * COUNT


class E(enum.Enum):
    A = 1
    __format__ = F()


def ENTRY(x):
    return x * len(f"{E.A}")
''',
    "text_of_a_named_tuple": '''
import collections


class T(collections.namedtuple("T", "a b")):
    def __format__(self, spec):
        return "a" * COUNT


PAIR = T(1, 2)


def ENTRY(x):
    return x * len(f"{PAIR}")
''',
    "property_of_a_metaclass_that_a_protocol_asks": '''
import typing


@typing.runtime_checkable
class HasGain(typing.Protocol):
    gain: float


class Me(type):
    @property
    def gain(cls):
        if COUNT != 1:
            raise AttributeError("gain")
        return 1


class Plain(metaclass=Me):
    pass


def ENTRY(x):
    return x * 2 if isinstance(Plain, HasGain) else x * 3
''',
    "class_that_an_object_says": '''
import abc


class S(abc.ABC):
    pass


class C:
    def __getattribute__(self, name):
        if name == "__class__" and COUNT == 1:
            return S
        return object.__getattribute__(self, name)


OBJ = C()


def ENTRY(x):
    return x * 2 if isinstance(OBJ, S) else x * 3
''',
    "answer_of_a_module_or_a_default": '''
import sys
THIS = sys.modules[__name__]


def __getattr__(name):
    if name == "other" and COUNT == 3:
        return 5
    raise AttributeError(name)


def ENTRY(x):
    return x * getattr(THIS, "other", 2)
''',
}


def rows():
    """(name, the program of the first process, that of the second)"""
    for name, body in PROGRAMS.items():
        text = HEAD.replace("BODY", body)
        yield name, text, text.replace("COUNT = 1", "COUNT = 3")
