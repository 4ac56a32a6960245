"""Source expressions: how a guard reaches an object from the locals, the globals and loaded modules.

A path is a node of a tree, [parent, step, argument]; equal prefixes are one node, evaluated once.
"""

import builtins
import sys

from ...base.signals import let_through
from ...pytorch import installation
from .arrays import array_as_tensor
from .held import held
from .installed import is_pythons_file
from .values import NotPortable, decode, encode

ROOT = -1
_ABSENT = object()


class Unreachable:
    """Stands for a node that has no value; `why` says what happened."""

    __slots__ = ("why",)

    def __init__(self, why):
        self.why = why


class Paths:
    """Collects nodes, each once."""

    def __init__(self):
        self.nodes = []
        self._places = {}

    def add(self, parent, step, argument=None):
        key = (parent, step, repr(argument))
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.nodes)
            self.nodes.append([parent, step, argument])
        return place

    def constant(self, parent, step, value):
        return self.add(parent, step, encode(value))


class Scope:
    """What roots are looked up in."""

    def __init__(self, local_values, global_values):
        self.local_values = local_values
        self.global_values = global_values


def key_at(container, place):
    return list(dict.keys(container))[place]


def dictionary_item(container, key):
    """What lies there: `defaultdict` would put something there, and `__missing__` runs code."""
    found = dict.get(container, key, _ABSENT)
    if found is _ABSENT:
        raise KeyError(key)
    return found


def item(container, key):
    return dictionary_item(container, key) if issubclass(type(container), dict) else container[key]


# Step -> f(parent's value, decoded argument).
STEPS = {
    "attr": getattr,
    "generic": object.__getattribute__,
    "item": item,
    "dict": dictionary_item,
    "list": list.__getitem__,
    "key": key_at,
    "type": lambda value, _: type(value),
    "typedict": lambda value, _: vars(value),
    "tensor": lambda value, _: array_as_tensor(value),
    "default": lambda value, index: value.__defaults__[index],
    "keyword": lambda value, name: value.__kwdefaults__[name],
}


def evaluate(nodes, scope):
    """The value of every node, in order."""
    values = []
    for parent, step, argument in nodes:
        try:
            values.append(_value(values, parent, step, argument, scope))
        except Exception as error:  # Whatever a user's attribute raises: there is no value.
            let_through(error)
            values.append(Unreachable(f"{type(error).__name__}: {error}"))
    return values


class Values:
    """Of nodes, each evaluated when it is first asked for: whoever checks guards in their order, and stops, asks nothing of an
    object that is of another class than it was."""

    def __init__(self, nodes, scope):
        self._nodes, self._scope, self._known = nodes, scope, {}

    def __getitem__(self, place):
        known = self._known
        if place in known:
            return known[place]
        parent, _, argument = self._nodes[place]
        is_next = (parent == ROOT or parent in known) and type(argument) is not dict
        for each in (place,) if is_next else self._pending(place):
            try:
                known[each] = _value(known, *self._nodes[each], self._scope)
            except Exception as error:
                let_through(error)
                known[each] = Unreachable(f"{type(error).__name__}: {error}")
        return known[place]

    def _pending(self, place):
        wanted, pending = set(), [place]
        while pending:
            place = pending.pop()
            if place != ROOT and place not in wanted and place not in self._known:
                wanted.add(place)
                parent, _, argument = self._nodes[place]
                pending.append(parent)
                if type(argument) is dict and "node" in argument:
                    pending.append(argument["node"])
        return sorted(wanted)


def _value(values, parent, step, argument, scope):
    if parent == ROOT:
        if step == "local":
            return scope.local_values[argument]
        if step == "global":
            return scope.global_values[argument]
        if step == "module":
            return sys.modules[argument]
        return vars(builtins)
    base = values[parent]
    if type(base) is Unreachable:
        return base
    if type(argument) is dict:
        argument = values[argument["node"]] if "node" in argument else decode(argument)
        if type(argument) is Unreachable:
            return argument
    return STEPS[step](base, argument)


def root_of(nodes, place):
    """The node in which a path begins."""
    while nodes[place][0] != ROOT:
        place = nodes[place][0]
    return nodes[place]


def is_librarys(nodes, place):
    """Is it reached from a module of Python's library? What its code does with that follows from Python's version."""
    return is_pythons_file(_file_of_root(nodes, place))


def is_platforms(nodes, place):
    """The same, or of PyTorch."""
    path = _file_of_root(nodes, place)
    return is_pythons_file(path) or installation.path_in(path) is not None


def _file_of_root(nodes, place):
    """Of the module in which a path begins; "" where it begins otherwise."""
    _, step, name = root_of(nodes, place)
    return (held(sys.modules.get(name), "__file__") or "") if step == "module" else ""


_TEXTS = {
    "local": "{1}", "global": "{1}", "module": "{1}", "builtins": "builtins",
    "attr": "{0}.{1}", "generic": "{0}.{1}", "type": "type({0})", "typedict": "vars({0})", "tensor": "torch.as_tensor({0})",
    "key": "list({0})[{1}]", "default": "{0}.__defaults__[{1}]",
    "keyword": "{0}.__kwdefaults__[{1!r}]",
}


def text(nodes, place):
    """The node as an expression for people."""
    parent, step, argument = nodes[place]
    if isinstance(argument, dict):
        argument = text(nodes, argument["node"]) if "node" in argument else decode(argument)
    base = "" if parent == ROOT else text(nodes, parent)
    return _TEXTS.get(step, "{0}[{1!r}]").format(base, argument)


def node_argument(place):
    """An argument that is the value of another node."""
    return {"node": place}


__all__ = [
    "NotPortable", "Paths", "ROOT", "Scope", "Unreachable", "Values", "evaluate", "node_argument", "root_of", "text"]
