"""Classes: what they answer, do with their items, inherit and register."""

PROGRAMS = {
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
    "attribute_of_a_kind_of_int": '''
class Thing(int):
    def __bool__(self):
        return self.n == 1


THING = Thing(3)
THING.n = COUNT


def ENTRY(x):
    return x * 2 if THING else x * 3
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
}
