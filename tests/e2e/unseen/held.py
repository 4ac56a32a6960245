"""What containers hold and patterns match: sets in sets and in keys, methods in tables, keys that are looked at."""

PROGRAMS = {
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
}
