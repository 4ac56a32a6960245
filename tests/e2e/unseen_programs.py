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
''' + _OF_A_MEMBER}


def rows():
    """(name, the program of the first process, that of the second)"""
    for name, body in PROGRAMS.items():
        text = HEAD.replace("BODY", body)
        yield name, text, text.replace("COUNT = 1", "COUNT = 3")
