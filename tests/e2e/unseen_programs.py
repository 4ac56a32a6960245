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


def rows():
    """(name, the program of the first process, that of the second)"""
    for name, body in PROGRAMS.items():
        text = HEAD.replace("BODY", body)
        yield name, text, text.replace("COUNT = 1", "COUNT = 3")
