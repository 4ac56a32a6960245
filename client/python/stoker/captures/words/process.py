"""What only the process can say, or its host: limits and numbers of its own, addresses, its threads, names."""

import types

_MODULES = frozenset(("sys", "posix", "_thread", "gc", "_locale", "_signal", "resource"))
# Of these, what Dynamo runs for its result, however code comes by it (its polyfills of sys), and what tells the names of
# files.
NAMES = frozenset(("getrecursionlimit", "get_int_max_str_digits", "extract_tb"))
# Of the module platform, what of a host is not part of the target.
_OF_HOST = frozenset(("node", "uname", "platform", "release", "version", "processor", "libc_ver", "freedesktop_os_release"))


def is_of_process(value):
    if isinstance(value, types.FunctionType) and value.__module__ == "platform":
        return value.__name__ in _OF_HOST
    return isinstance(value, types.BuiltinFunctionType) and value.__module__ in _MODULES


def is_run_for_its_result(value):
    return is_of_process(value) and value.__name__ in NAMES
