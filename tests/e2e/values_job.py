"""What frames read that is held in unusual places: one JSON line, {function: [result, result of eager, was it a hit?]}.

usage: values_job.py [STATEMENT]   (it runs before the first call)
"""

import abc
import enum
import json
import sys
import threading
import types

import torch
from compared import compared, counted_hits


class Local(threading.local):
    scale = 2


class Configuration(types.ModuleType):
    pass


class Abstract(abc.ABC):
    pass


class Choice(enum.Enum):
    FIRST, SECOND = 1, 2


KEYS = type({}.keys())
local, configuration, FACTORS = Local(), Configuration("configuration"), [1.5, 2.0]


def of_a_thread(x):
    return x * local.scale


def of_an_unknown_module(x):
    return x * (2 if hasattr(configuration, "scale") else 3)


def of_an_abstract_class(x):
    return x * (2 if isinstance({}.keys(), Abstract) else 3)


def of_an_enumeration(x):
    return x * Choice["FIRST"].value


def of_made_tensors(x):
    return x * torch.tensor(FACTORS) + torch.tensor([[1, 2]], dtype=torch.int16)


def of_a_made_index(x):
    return x[torch.tensor([1, 0, 1])]


def of_one_tensor_twice(x):
    y = x + 1
    return _shared(x, y, x), _shared(x, x, x), _shared(y, y, x), _shared(x, y, y), _shared(x, x.detach(), x)


def _shared_in_eager(x, y, z):
    x.mul_(2)
    z.sub_(y)
    return x + y + z, x is y, y is z, x is z


_compiled = torch.compile(_shared_in_eager, backend="stoker")


def _shared(*tensors):
    sum_of, *same = (_compiled if of_one_tensor_twice.is_compiled else _shared_in_eager)(*tensors)
    return [sum_of.tolist(), *same, [each.tolist() for each in tensors]]


FUNCTIONS = (
    of_a_thread, of_an_unknown_module, of_an_abstract_class, of_an_enumeration, of_made_tensors, of_a_made_index)


def main():
    exec("".join(sys.argv[1:]), globals())
    found = compared(FUNCTIONS)
    before, results = counted_hits(), []
    for of_one_tensor_twice.is_compiled in (True, False):
        results.append(of_one_tensor_twice(torch.arange(3.0)))
    found["of_one_tensor_twice"] = [*results, counted_hits() > before]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
