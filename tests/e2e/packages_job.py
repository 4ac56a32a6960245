"""What frames read of an installed package: one JSON line, {function: [result, result of eager, was it a hit?]}.

usage: packages_job.py FOLDER [STATEMENT]   (FOLDER/thing is the package; the statement runs before the first call)
"""

import json
import sys

import torch
from compared import compared

from stoker.captures.words import installed

FOLDER = sys.argv[1]
sys.path.insert(0, FOLDER)
installed._FOLDERS += (FOLDER,)

import thing  # noqa: E402


class Own(thing.Registry):
    pass


def of_a_metaclass(x):
    return x * thing.Registry["w"]


def of_a_class_of_ones_own(x):
    return x * Own["w"]


def of_a_subscript(x):
    return x * thing.Subscripted[3]


def of_an_enumeration(x):
    return x * (2 if thing.Choice.FIRST else 3)


def of_a_named_choice(x):
    return x * (2 if thing.Named("first") is thing.Named.FIRST else 3)


def of_an_operation(x):
    return thing.operation(x) + 1


def of_a_name(x):
    return x * (2 if hasattr(thing, "newer") else 3)


def of_a_made_name(x, part="new"):
    return x * (2 if getattr(thing.plain, part + "er", None) is None else 3)


class Keyed(metaclass=thing.Keyed):
    factor = 2


def of_a_class_that_its_metaclass_reads(x):
    return x * Keyed[3]


def of_an_object_that_it_holds(x):
    return x * thing.ByObject[3]


def of_a_late_name(x, part="lat"):
    return x * (2 if hasattr(thing.plain, part + "er") else 3)


def of_a_name_by_option(x):
    return x * (2 if hasattr(thing.lazy, "extra") else 3)


def of_an_abstract_class(x, key=3):
    return x * (2 if isinstance(key, thing.Abstract) else 3)


FUNCTIONS = (
    of_a_metaclass, of_a_class_of_ones_own, of_a_subscript, of_an_enumeration, of_a_named_choice, of_an_operation, of_a_name, of_a_made_name,
    of_an_abstract_class, of_a_class_that_its_metaclass_reads, of_an_object_that_it_holds, of_a_late_name, of_a_name_by_option)


def main():
    exec("".join(sys.argv[2:]), globals())
    print(json.dumps(compared(FUNCTIONS)))


if __name__ == "__main__":
    main()
