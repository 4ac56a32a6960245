"""What only the process can say: limits and numbers of its own, addresses, its threads."""

import types

_MODULES = frozenset(("sys", "posix", "_thread", "gc", "_locale", "_signal", "resource"))
# Of these, what Dynamo runs for its result, however code comes by it (its polyfills of sys).
NAMES = frozenset(("getrecursionlimit", "get_int_max_str_digits"))


def is_of_process(value):
    return isinstance(value, types.BuiltinFunctionType) and value.__module__ in _MODULES


def is_run_for_its_result(value):
    return is_of_process(value) and value.__name__ in NAMES
