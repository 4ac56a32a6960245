"""Functions whose result counts as constant (torch.compiler.assume_constant_result): Dynamo calls them while it traces,
and puts what they give into the graph. No guard and no digest says what that is in another process: a capture holds
each call with its result, and they are called again, once, before it is installed.
"""

import types

from ...base.signals import let_through
from ...pytorch.marks import counts_as_constant
from ..words.held import held
from ..words.values import NotPortable, decode, encode, look_up, same_words

_MAX_WRAPPERS = 16
_MAX_CALLS = 256  # Of one frame.


def constants_of(calls):
    """JSON: [[path, arguments, keywords, result]] of pytorch.frames.Trace.constant_calls. NotPortable where a function
    is not found by its name, or what it got or gave has no words."""
    found = {}
    for function, arguments, keywords, result in calls:
        path = f"{held(function, '__module__')}:{held(function, '__qualname__')}"
        if _below(look_up(path)) is not function:
            raise NotPortable("a function whose result counts as constant and which is not found under its name")
        words = [path, encode(list(arguments)), encode(sorted(keywords.items())), encode(result)]
        found.setdefault(repr(words[:3]), words)
        if len(found) > _MAX_CALLS:
            raise NotPortable(f"more than {_MAX_CALLS} calls of functions whose results count as constant")
    return list(found.values())


def first_difference(constants):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for path, arguments, keywords, expected in constants:
        function = look_up(path)
        if not counts_as_constant(_below(function)):
            return f"{path}()", "a function whose result counts as constant", "none"
        found = _result(function, arguments, keywords)
        if not same_words(found, expected):
            return f"{path}()", str(expected), str(found)
    return None


def _result(function, arguments, keywords):
    try:
        return encode(function(*decode(arguments), **dict(decode(keywords))))
    except Exception as error:  # A program's function may raise anything; what has no words is no match either.
        let_through(error)
        return repr(error)


def _below(value):
    """The function below what caches its results or wraps it otherwise; None where there is none."""
    for _ in range(_MAX_WRAPPERS):
        if isinstance(value, types.FunctionType) and counts_as_constant(value) and not held(value, "__wrapped__"):
            return value
        inner = held(value, "__wrapped__")
        if inner is None:
            return value if isinstance(value, types.FunctionType) else None
        value = inner
    return None
