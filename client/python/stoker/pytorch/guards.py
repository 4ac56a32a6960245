"""Dynamo's guards, in the words of the newest PyTorch."""

import functools
from typing import Any, NamedTuple

from ..base.not_portable import NotPortable
from . import versions
from .unknown import require_defaults

ORDER = "order of keys"  # The kind of what orders_of() gives,
KEYS = "DICT_KEYS_MATCH"  # of what keys_of() does,
UNGUARDED = "no guard"  # and unguarded_of().
_FIELDS = frozenset((
    "originating_source", "create_fn", "guard_types", "code_list", "obj_weakref",
    "guarded_class_weakref", "stack", "user_stack", "_hash", "_unserializable",
    "_force_dict_keys_match"))

# Arguments that each kind of guard may be made with; none where it is not here.
_ARGUMENTS = {
    "HASATTR": {"attr"}, "NOT_PRESENT_IN_GENERIC_DICT": {"attr"}, "DUPLICATE_INPUT": {"source_b"},
    "DICT_CONTAINS": {"key"}, "DICT_NOT_CONTAINS": {"key"}, "SET_CONTAINS": {"key"},
    "SET_NOT_CONTAINS": {"key"}, "TENSOR_MATCH": {"value"}, "EQUALS_MATCH": {"recompile_hint"}}


class GuardWords(NamedTuple):
    """One guard."""

    kind: str
    source: Any  # Of what is guarded: for sources.step_of.
    arguments: dict  # Name -> what the guard was made with.
    code: tuple  # Expressions that Dynamo evaluates: for SHAPE_ENV.
    where: str  # The user's line: file name without folder, line, function, source.
    reason: str = ""  # Why it has no portable form; "" if it may have one.


def words_of(guard):
    """`guard`: a torch._guards.Guard. What is not known of it is its `reason`."""
    kind, source, arguments, reason = guard.create_fn_name(), guard.originating_source, {}, ""
    try:
        require_defaults(guard, _FIELDS, f"a {kind} guard")
        kind, source, arguments = versions.adapter().guard_words(
            kind, source, _arguments(guard.create_fn, kind))
        unknown = sorted(set(arguments) - _ARGUMENTS.get(kind, set()))
        if unknown:
            reason = f"a {kind} guard with {unknown[0]}"
    except NotPortable as error:
        reason = str(error)
    return GuardWords(kind, source, arguments, tuple(guard.code_list or ()), _line(guard), reason)


def orders_of(output_graph):
    """Of the dictionaries whose order code sees: Dynamo guards it without a guard of its own."""
    sources = sorted(output_graph.guard_on_key_order, key=repr)
    return [GuardWords(ORDER, source, {}, (), "") for source in sources]


def keys_of(source):
    """Of a dictionary whose keys Dynamo takes and does not guard."""
    return GuardWords(KEYS, source, {}, (), "")


def sameness_of(source, other):
    """Of two sources that give one object, where Dynamo makes no guard of that."""
    return GuardWords("DUPLICATE_INPUT", source, {"source_b": other}, (), "")


def unguarded_of(source):
    """Of what Dynamo read there and guards nothing of."""
    return GuardWords(UNGUARDED, source, {}, (), "")


def _arguments(function, kind):
    if isinstance(function, functools.partial):
        if function.args:
            raise NotPortable(f"a {kind} guard made otherwise")
        return dict(function.keywords)
    return {}


def _line(guard):
    if not guard.user_stack:
        return ""
    frame = guard.user_stack[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}: {frame.line}"


def numbers_of(sizes):
    """Sizes or strides of a tensor input as Dynamo keeps them: a number, or None where one is symbolic."""
    from torch._dynamo.guards import convert_to_concrete_values

    return list(convert_to_concrete_values(sizes))
