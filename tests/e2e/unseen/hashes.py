"""Hashes, and what is compared, under other names than their own."""

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
}
