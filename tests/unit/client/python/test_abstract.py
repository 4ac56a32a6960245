"""Which classes are an abstract class's: beside issubclass, which is asked afterwards, as it remembers what it was asked."""

import abc
import collections
import collections.abc
import enum
import gc
import typing

import pytest

from stoker.captures.words.abstract import Kinds


class Base(abc.ABC):
    pass


class Child(Base):
    pass


class Registered:
    pass


class BelowRegistered(Registered):
    pass


class RegisteredBelow:
    pass


class OtherBase(abc.ABC):
    pass


class OtherChild(OtherBase):
    pass


class Hooked(Base):
    @classmethod
    def __subclasshook__(cls, other):
        return True if hasattr(other, "fits") else False if hasattr(other, "misfits") else NotImplemented


class Fits:
    fits = 1


class Misfits:
    misfits = 1


class MisfitsRegistered:
    misfits = 1


class Sized(collections.abc.Sized):
    pass


class HasLength:
    def __len__(self):
        return 0


class Decides(abc.ABCMeta):
    def __subclasscheck__(cls, other):
        return other.__name__.startswith("Fits")


class Decided(Base, metaclass=Decides):
    pass


class Protocol(typing.Protocol):
    fits: int


class Raises(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        raise OSError


class WithoutHash(type):
    __hash__ = None


class Odd(metaclass=WithoutHash):
    pass


Base.register(Registered)
Child.register(RegisteredBelow)
Child.register(OtherBase)
Hooked.register(MisfitsRegistered)
CLASSES = [value for value in globals().values() if isinstance(value, type)] + [
    int, str, list, dict, object, type, collections.OrderedDict, enum.Enum, collections.abc.Mapping]
ABSTRACT = [cls for cls in CLASSES if isinstance(cls, abc.ABCMeta)]
ABSTRACT += [cls for cls in vars(collections.abc).values() if isinstance(cls, abc.ABCMeta)]


def answer(ask, *classes):
    try:
        return ask(*classes)
    except Exception as error:
        return type(error)


def test_answers_are_those_of_issubclass():
    kinds = Kinds()
    found = [answer(kinds.has, cls, kind) for cls in ABSTRACT for kind in CLASSES]
    assert found == [answer(issubclass, kind, cls) for cls in ABSTRACT for kind in CLASSES]
    assert {True, False, OSError, TypeError} <= set(found)
    again = Kinds()  # What issubclass has remembered by now.
    assert found == [answer(again.has, cls, kind) for cls in ABSTRACT for kind in CLASSES]


def test_answers_are_those_of_issubclass_for_all_classes_of_packages():
    every = [value for value in gc.get_objects() if type(value) in (type, abc.ABCMeta)]
    abstract, others = [cls for cls in every if type(cls) is abc.ABCMeta], every[::50] + CLASSES
    kinds = Kinds()
    found = [answer(kinds.has, cls, kind) for cls in abstract for kind in others]
    assert found == [answer(issubclass, kind, cls) for cls in abstract for kind in others]


@pytest.mark.parametrize("is_asked", [False, True])
def test_what_a_program_was_told_stays(is_asked):
    class Late:
        pass

    if is_asked:
        assert not issubclass(Late, collections.abc.Sized)
    Late.__len__ = lambda self: 0
    assert Kinds().has(collections.abc.Sized, Late) is not is_asked
    assert issubclass(Late, collections.abc.Sized) is not is_asked


def test_asking_changes_nothing():
    class Late:
        pass

    assert not Kinds().has(collections.abc.Sized, Late)
    Late.__len__ = lambda self: 0
    assert issubclass(Late, collections.abc.Sized)


def test_what_is_registered_later_counts():
    class Late:
        pass

    assert not Kinds().has(Base, Late)
    assert not issubclass(Late, Base)
    Child.register(Late)
    assert Kinds().has(Base, Late) and issubclass(Late, Base)
