"""Which keys mappings hold, and which elements sets, where code may catch what a look-up in them raises: guards know of
what was found, and nothing tells them of what was not.
"""

import json
import sys
import types
from os import environ  # A program may put something else into its place.

from ...base.signals import let_through
from ..words.digests import digest_of
from ..words.held import held
from ..words.installed import is_pythons_file
from ..words.paths import ROOT, text
from ..words.values import NotPortable, class_path, encode
from .chains import look_along

_MAPPINGS = (dict, types.MappingProxyType)
_SETS = (set, frozenset)
_SEQUENCES = (list, tuple)
_MAX_DEPTH = 8
_MAX_ITEMS = 20_000  # Of all containers in one.
_MAX_TEXT = 1_000  # Longer words are digested.


def members_of(nodes, values, chains):
    """[[place of a node, or [module, names], words]], each container once. `chains`: of reach.Reached."""
    found, seen = [], {id(environ._data), id(sys.modules)}  # environment.py and module_names.py say what these hold.
    for place, value in enumerate(values):
        if isinstance(value, (*_MAPPINGS, *_SETS)) and id(value) not in seen and not is_of_attributes(nodes, place):
            seen.add(id(value))
            found.append([place, _words(value, 1)])  # Of what lies in it, code has nodes of its own.
    for (module, names), value in sorted(chains.items(), key=lambda item: item[0]):
        if id(value) not in seen and isinstance(value, (*_MAPPINGS, *_SETS, *_SEQUENCES)) and not is_pythons_file(
                held(sys.modules.get(module), "__file__") or ""):
            seen.add(id(value))
            words = _words(value, _MAX_DEPTH)
            if words is not None:
                found.append([[module, list(names)], words])
    return found


def first_difference(nodes, members, values):
    """(what, expected, found) of the first one that holds others than it did, or None."""
    for path, expected in members:
        if type(path) is int:
            value = values[path]
        else:
            module, names = path
            value = look_along(sys.modules.get(module), names)
        try:
            found = _words(value, 1 if type(path) is int else _MAX_DEPTH)
        except NotPortable as error:
            found = str(error)
        if found != expected:
            what = text(nodes, path) if type(path) is int else ".".join((path[0], *path[1]))
            return f"what {what} holds", str(expected), str(found)
    return None


def is_of_attributes(nodes, place):
    """A dictionary of attributes: what of it code may read is described as its object's."""
    parent, step, argument = nodes[place]
    return step == "typedict" or argument == "__dict__" or parent == ROOT and step == "builtins"


def _words(value, depth):
    """JSON. None for a value in which nothing can be looked up. NotPortable for too much."""
    words = _described(value, depth, [_MAX_ITEMS])
    if words is not None and len(whole := json.dumps(words)) > _MAX_TEXT:
        return [len(words), digest_of(whole)]
    return words


def _described(value, depth, left):
    is_mapping = isinstance(value, _MAPPINGS)
    if depth == 0 or not is_mapping and not isinstance(value, (*_SETS, *_SEQUENCES)):
        return None
    elements = _elements(value)
    left[0] -= len(elements)
    if left[0] < 0:
        raise NotPortable(f"containers of more than {_MAX_ITEMS} items, where code catches what look-ups raise")
    if isinstance(value, _SEQUENCES):
        inner = [[place, _described(item, depth - 1, left)] for place, item in enumerate(elements)]
        return [pair for pair in inner if pair[1] is not None] or None
    words = [[_key(key), None] for key in elements]
    if is_mapping:
        for pair, item in zip(words, _values(value)):
            pair[1] = _described(item, depth - 1, left)
    return sorted(words, key=repr)


def _elements(value):
    """Without what a subclass makes of it."""
    for kind in (dict, *_SETS, *_SEQUENCES):
        if isinstance(value, kind):
            return list(kind.__iter__(value))
    return _asked(lambda: list(value))


def _values(value):
    return list(dict.values(value)) if isinstance(value, dict) else _asked(lambda: list(value.values()))


def _asked(question):
    """What a mappingproxy stands for may be a program's own."""
    try:
        return question()
    except Exception as error:
        let_through(error)
        raise NotPortable(f"a mapping that raises {type(error).__name__} when it is gone through") from error


def _key(key):
    try:
        return repr(encode(key))
    except NotPortable:
        pass
    try:
        return f"a {class_path(type(key))}"
    except NotPortable:
        return f"a {type(key).__name__}"
