"""What frames read of a program's own extensions: one JSON line, {function: [result, result of eager, was it a hit?]}.

usage: extension_job.py FOLDER    (FOLDER has the extensions, and the module of_kinds)
"""

import json
import sys

from compared import compared

sys.path.insert(0, sys.argv[1])
import extension  # noqa: E402
import of_kinds  # noqa: E402

WHOLE = extension.Whole(5)


class Own(extension.Whole):
    pass


class WithMethod(int):
    pass


class BelowMethod(WithMethod):
    pass


extension.install(WithMethod)
ZEROS, ELSEWHERE, METHOD, BELOW_METHOD = extension.Zeros(5), extension.Elsewhere(5), WithMethod(5), BelowMethod(5)
OWN = Own(5)


def of_a_class_in_c(x):
    return x * (2 if WHOLE else 3)


def of_ones_own_class(x):
    return x * (2 if OWN else 3)


def of_its_names(x):
    return x * len(dir(extension.Named))


def of_a_class_of_zeros(x):
    return x * (2 if ZEROS else 3)


def of_a_class_elsewhere(x):
    return x * (2 if ELSEWHERE else 3)


def of_a_method_in_it(x):
    return x * (2 if METHOD else 3)


def of_a_method_below(x):
    return x * (2 if BELOW_METHOD else 3)


def of_nothing(x):
    return x * 5


print(json.dumps(compared((
    of_a_class_in_c, of_ones_own_class, of_its_names, of_a_class_of_zeros, of_a_class_elsewhere, of_a_method_in_it,
    of_a_method_below, of_nothing, *(value for name, value in vars(of_kinds).items() if name.startswith("of_"))))))
