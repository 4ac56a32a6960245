"""Members of enumerations: what their methods reach runs in place of being traced."""

_OF_A_MEMBER = '''

def ENTRY(x):
    return x * (f"{Member.ONE}".index("red") + 2)
'''

PROGRAMS = {
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
    "property_of_a_member": '''
class E(enum.Enum):
    A = 1

    @property
    def factor(self):
        return COUNT


def ENTRY(x):
    return x * E.A.factor
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
}
